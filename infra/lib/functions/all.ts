/** Definitions of all functions, by handler. */

import { Settings } from '../config';
import { Handler } from '../names';
import { callFunctions } from './calls';
import { FunctionDefinition } from './definition';
import { reactionFunctions } from './reactions';
import { stateFunctions } from './states';

export function functionDefinitions(settings: Settings): Readonly<Record<Handler, FunctionDefinition>> {
  return { ...stateFunctions(settings), ...reactionFunctions(settings), ...callFunctions(settings) };
}

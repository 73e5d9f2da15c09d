/** Definitions of all functions, by handler. */

import { Settings } from '../config';
import { Handler } from '../names';
import { callFunctions } from './calls';
import { FunctionDefinition } from './definition';
import { measuringFunctions } from './measuring';
import { reactionFunctions } from './reactions';
import { stateFunctions } from './states';

export function functionDefinitions(settings: Settings): Readonly<Record<Handler, FunctionDefinition>> {
  const moving = stateFunctions(settings);
  return {
    ...moving,
    ...measuringFunctions(settings, moving),
    ...reactionFunctions(settings),
    ...callFunctions(settings),
  };
}

/** Definitions of all functions, by handler. */

import { Settings } from '../config';
import { Handler } from '../names';
import { callFunctions } from './calls';
import { copyingFunctions } from './copying';
import { FunctionDefinition } from './definition';
import { measuringFunctions } from './measuring';
import { reactionFunctions } from './reactions';
import { poolFunctions } from './pool';
import { restoringFunctions } from './restoring';
import { stateFunctions } from './states';
import { waveFunctions } from './waves';

export function functionDefinitions(settings: Settings): Readonly<Record<Handler, FunctionDefinition>> {
  const moving = stateFunctions(settings);
  return {
    ...moving,
    ...measuringFunctions(settings, moving),
    ...copyingFunctions(settings),
    ...restoringFunctions(settings),
    ...reactionFunctions(settings),
    ...callFunctions(settings),
    ...waveFunctions(settings),
    ...poolFunctions(settings),
  };
}

/**
 * Functions of the state machine of waves: what each does, and exactly what it may do.
 * tests/infra/test_permissions.py holds the permissions against the code.
 */

import * as data from '../access/control-data';
import { Settings } from '../config';
import { WaveState } from '../names';
import { FunctionDefinition, tables } from './definition';

export function waveFunctions(settings: Settings): Readonly<Record<WaveState, FunctionDefinition>> {
  const { on } = tables(settings);
  return {
    decide_wave: {
      description: 'State Decide Wave: what comes next under a label; starts nothing itself',
      access: [
        on('transfers', 'GetItem', 'PutItem'),
        data.describeWaves(settings),
        data.putEventsOf(settings, 'Waves Ended'),
      ],
    },
  };
}

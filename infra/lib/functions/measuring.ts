/**
 * Tasks of an execution that only measures: what each does, and exactly what it may do, most as their counterparts of a transfer.
 * tests/infra/test_permissions.py holds the permissions against the code.
 */

import * as data from '../access/control-data';
import { askAboutEnds } from '../access/groups';
import * as relays from '../access/relay-instances';
import * as ssm from '../access/run-commands';
import { Settings } from '../config';
import { MeasuringState } from '../handlers';
import { FunctionDefinition, LONG, tables } from './definition';
import { TransferFunctions } from './states';

export function measuringFunctions(settings: Settings, moving: TransferFunctions): Readonly<Record<MeasuringState, FunctionDefinition>> {
  const { on, noteTimes, readAndNote } = tables(settings);
  const as = (one: FunctionDefinition, description: string): FunctionDefinition => ({ ...one, description });
  return {
    resolve_measured_paths: as(moving.resolve_paths, 'Addresses of the hops between machines that are only measured'),
    survey_measured_ends: {
      description: 'Lists the source and checks the destination of machines that are only measured',
      timeout: LONG,
      access: [
        on('transfers', 'GetItem', 'PutItem', 'UpdateItem'),
        ...ssm.commandEnds(settings, 'scan'),
        ssm.readResults(),
        ssm.cancelCommands(),
      ],
    },
    estimate_measuring: {
      ...moving.estimate_transfer,
      description: 'Time and cost of measuring each number of pairs, or all links',
      access: [noteTimes, on('profiles', 'GetItem', 'BatchGetItem'), ...askAboutEnds(settings)],
    },
    await_measuring_approval: as(moving.await_approval, 'Keeps the task token, tells people what they may have measured'),
    apply_measuring_approval: as(moving.apply_approval, 'Puts the number of pairs that a person chose in the place of the recommended one'),
    plan_measuring: as(moving.open_plan, 'Makes a plan without chunks, and the record of a sender that only runs probes'),
    start_sender: {
      ...moving.start_transfer,
      description: 'Keeps the task token, starts the sender alone',
      access: [
        readAndNote,
        on('control-tokens', 'GetItem', 'UpdateItem'),
        on('nodes', 'Query'),
        data.idempotency(settings),
        ...ssm.commandEnds(settings, 'send'),
        ssm.readResults(),
        ssm.cancelCommands(),
        data.sendTask('Success', 'Failure'),
      ],
    },
    spawn_measured_relays: as(moving.spawn_relays, 'Launches relays that are only measured'),
    await_measured_relays: as(moving.await_relays, 'Waits until these relays run, starts their daemons, opens what is measured'),
    measure_relays: {
      description: 'Measures each pair or link from the sender, and the direct path, and ends the sender’s task with that',
      timeout: LONG,
      access: [
        on('transfers', 'GetItem', 'Query', 'PutItem', 'UpdateItem'),
        on('nodes', 'Query', 'UpdateItem'),
        ...data.pool(settings, 'GetItem', 'Query', 'UpdateItem'),
        on('control-tokens', 'GetItem'),
        data.sendTask('Success', 'Failure'),
        relays.describe('Instances'),
        relays.terminateRelays(settings),
        ...ssm.commandLent(settings, 'stop'),
      ],
    },
  };
}

/**
 * Tasks of the state machine: what each does, how long it may take, and exactly what it may do.
 * tests/infra/test_permissions.py holds the permissions against the code.
 */

import { Duration } from 'aws-cdk-lib';
import * as data from '../access/control-data';
import { askAboutEnds, askMarkets, keepLogs, lookAtMachines, removal, report, startRelays, tearDown } from '../access/groups';
import * as relays from '../access/relay-instances';
import * as ssm from '../access/run-commands';
import { Settings } from '../config';
import { CopyingState, MeasuringState, RestoringState, State } from '../handlers';
import { FunctionDefinition, LONG, tables } from './definition';

/** Those of a transfer, and of what every execution has. */
export type TransferFunctions = Readonly<Record<Exclude<State, MeasuringState | CopyingState | RestoringState>, FunctionDefinition>>;

export function stateFunctions(settings: Settings): TransferFunctions {
  const { on, readAndNote, membership } = tables(settings);
  return {
    validate_request: {
      description: 'Checks the request and its machines, takes the lock of the destination',
      access: [
        on('transfers', 'GetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'),
        on('nodes', 'Query', 'DeleteItem'),
        on('chunks', 'DeleteItem'),
        data.putEvents(settings),
        // Whose it is: the alias that it was started through.
        data.describeExecutions(settings),
        ...lookAtMachines(),
      ],
    },
    resolve_paths: {
      description: 'Chooses the address of each hop, opens it, and probes it from the machines themselves',
      timeout: Duration.minutes(5),
      access: [
        readAndNote,
        relays.describe('SecurityGroups'),
        ...relays.openPaths(settings),
        ...ssm.commandEnds(settings, 'probe'),
        ssm.readResults(),
        ssm.cancelCommands(),
      ],
    },
    survey_ends: {
      description: 'Lists the source, checks the destination, and locks it by the directory that it is',
      timeout: LONG,
      access: [
        on('transfers', 'GetItem', 'PutItem', 'UpdateItem'),
        on('chunks', 'Query'),
        data.listSharedObjects(settings),
        ...ssm.commandEnds(settings, 'scan'),
        ssm.readResults(),
        ssm.cancelCommands(),
        data.sharedObjects(settings, 'GetObject', 'PutObject'),
        data.keyLists(settings, 'GetObject'),
      ],
    },
    estimate_transfer: {
      description: 'Time and cost for each number of relay pairs, and the choice',
      access: [readAndNote, on('profiles', 'GetItem', 'BatchGetItem'), ...askAboutEnds(settings)],
    },
    await_price: {
      description: 'Looks whether the pool costs as little as a transfer waits for, or whether its time has come',
      access: [readAndNote, on('profiles', 'GetItem', 'BatchGetItem'), ...askMarkets(settings)],
    },
    await_approval: {
      description: 'Keeps the task token, tells people what they may choose',
      access: [
        readAndNote,
        on('control-tokens', 'PutItem', 'DeleteItem'),
        data.putEvents(settings),
        data.sendLetters(settings),
      ],
    },
    apply_approval: {
      description: 'Puts the row that a person chose in the place of the recommended one; an old estimate is made again',
      access: [readAndNote, on('profiles', 'GetItem', 'BatchGetItem'), ...askMarkets(settings)],
    },
    plan_chunks: {
      description: 'Cuts and packs the listing into chunks; writes their items and manifests',
      timeout: LONG,
      memorySize: 2048,
      access: [
        membership,
        on('chunks', 'Query', 'UpdateItem', 'BatchWriteItem'),
        data.idempotency(settings),
        data.sharedObjects(settings, 'GetObject', 'PutObject'),
      ],
    },
    open_plan: {
      description: 'Makes a plan to which chunks are added while the listing goes on',
      access: [membership, data.idempotency(settings), data.sharedObjects(settings, 'PutObject')],
    },
    make_way: {
      description: 'Removes what a person has confirmed and is in the way of what is to come, before data moves',
      timeout: LONG,
      access: removal(settings),
    },
    start_transfer: {
      description: 'Keeps the task token, starts receiver and sender',
      timeout: Duration.minutes(5),
      access: [
        membership,
        on('control-tokens', 'GetItem', 'UpdateItem'),
        on('nodes', 'Query'),
        data.idempotency(settings),
        ...ssm.commandEnds(settings, 'receive', 'send'),
        ssm.readResults(),
        ssm.cancelCommands(),
        data.sendTask('Success', 'Failure'),
      ],
    },
    extend_plan: {
      description: 'Plans the objects of a listing as they come',
      timeout: LONG,
      memorySize: 2048,
      access: [
        readAndNote,
        on('chunks', 'BatchWriteItem'),
        data.idempotency(settings),
        data.sharedObjects(settings, 'GetObject', 'PutObject'),
      ],
    },
    finish_survey: {
      description: 'Waits for the end of a listing that data does not wait for, checks it, makes the estimate',
      timeout: LONG,
      access: [readAndNote, on('profiles', 'GetItem', 'BatchGetItem'), ssm.readResults(), ...askAboutEnds(settings)],
    },
    decide_relays: {
      description: 'Looks at what the paths of a transfer carry, and decides how many relays are to serve',
      timeout: Duration.minutes(5),
      access: [
        membership,
        on('nodes', 'Query', 'UpdateItem'),
        on('profiles', 'GetItem', 'BatchGetItem'),
        ...askMarkets(settings),
        data.putEvents(settings),
        ...data.pool(settings, 'GetItem', 'Query', 'UpdateItem'),
        relays.terminateRelays(settings),
        ...ssm.commandLent(settings, 'stop'),
        ...keepLogs(settings),
      ],
    },
    spawn_relays: {
      description: 'Launches relays in both regions',
      timeout: Duration.minutes(2),
      access: [
        membership,
        on('nodes', 'Query', 'PutItem', 'UpdateItem'),
        ...data.pool(settings, 'GetItem', 'Query', 'PutItem', 'UpdateItem'),
        ...data.tellPool(settings),
        data.idempotency(settings),
        relays.describe(
          'Instances',
          'InstanceTypes',
          'InstanceTypeOfferings',
          'RouteTables',
          'SecurityGroups',
          'Subnets',
        ),
        ...relays.launchRelays(settings),
        relays.terminateRelays(settings),
        ...ssm.commandLent(settings, 'stop'),
      ],
    },
    await_relays: {
      description: 'Waits until relays run and SSM manages them, starts their daemons, opens their paths',
      timeout: LONG,
      access: [
        membership,
        on('nodes', 'Query', 'UpdateItem'),
        ...data.pool(settings, 'GetItem', 'Query', 'UpdateItem'),
        ...startRelays(settings),
      ],
    },
    pre_test_relays: {
      description: 'Measures each pair from the sender and terminates the slower half',
      timeout: LONG,
      access: [
        on('transfers', 'GetItem', 'Query', 'PutItem', 'UpdateItem'),
        on('nodes', 'Query', 'UpdateItem'),
        ...data.pool(settings, 'GetItem', 'Query', 'UpdateItem'),
        relays.describe('Instances'),
        relays.terminateRelays(settings),
        ...ssm.commandLent(settings, 'stop'),
      ],
    },
    join_relays: {
      description: 'Adds the pairs to the membership that the sender follows',
      access: [membership, on('nodes', 'Query', 'UpdateItem')],
    },
    release_relays: {
      description: 'Keeps the relays’ logs and terminates them once the data has arrived',
      access: [
        readAndNote,
        on('nodes', 'Query', 'UpdateItem'),
        ...data.pool(settings, 'GetItem', 'Query', 'UpdateItem'),
        relays.describe('Instances'),
        relays.terminateRelays(settings),
        ...keepLogs(settings),
      ],
    },
    verify_transfer: {
      description: 'Compares the digests of both ends and lists the files with them',
      memorySize: 2048,
      timeout: LONG,
      access: [
        readAndNote,
        on('chunks', 'Query'),
        data.sharedObjects(settings, 'GetObject'),
        data.listSharedObjects(settings),
        data.transferObjects(settings, 'GetObject', 'PutObject'),
        data.listTransferObjects(settings),
      ],
    },
    delete_extras: {
      description: 'Removes what only the destination has and a person has confirmed, once everything has arrived',
      timeout: LONG,
      access: [
        ...removal(settings),
        data.listSharedObjects(settings),
        data.transferObjects(settings, 'PutObject'),
      ],
    },
    tear_down: {
      description:
        'Fences the transfer, keeps the logs, terminates the relays, stops the daemons, revokes the rules, gives the lock back',
      timeout: LONG,
      access: [...tearDown(settings), data.logObjects(settings)],
    },
    write_report: {
      description: 'Writes the report and its page, closes the transfer',
      // It reads every chunk item; memory also buys the processor for it.
      memorySize: 2048,
      timeout: LONG,
      access: [
        readAndNote,
        data.indexes(settings, 'transfers'),
        ...report(settings),
      ],
    },
  };
}

/**
 * Each Lambda in one entry: what it does, how long it may take, and exactly what it may do.
 * tests/infra/test_permissions.py holds the permissions against the code.
 */

import { Duration } from 'aws-cdk-lib';
import { Access } from './access/access';
import * as data from './access/control-data';
import { askMarkets, keepLogs, lookAtMachines, removal, report, startRelays, startTransfers, tearDown } from './access/groups';
import * as relays from './access/relay-instances';
import * as ssm from './access/run-commands';
import { Settings } from './config';
import { Handler } from './names';

export interface StageDefinition {
  readonly description: string;
  readonly access: readonly Access[];
  /** @default 60 s */
  readonly timeout?: Duration;
  /** @default 512 MB */
  readonly memorySize?: number;
  /** What it is told comes again in a minute: then what is late is dropped, and what failed is not tried again. */
  readonly perishable?: boolean;
  /** It reads a queue, which keeps what failed: nobody invokes it asynchronously. */
  readonly queued?: boolean;
  /** Transfers wait for it, or end without it: it gets the setting `reservedConcurrency`. */
  readonly vital?: boolean;
}

// Lambda's own limit; the state machine gives these tasks ten seconds more.
const LONG = Duration.minutes(15);

/** Definitions by handler. */
export function stageDefinitions(settings: Settings): Readonly<Record<Handler, StageDefinition>> {
  const on = data.table.bind(undefined, settings);
  // Every stage notes its times in the record.
  const noteTimes = on('transfers', 'UpdateItem');
  const readAndNote = on('transfers', 'GetItem', 'UpdateItem');
  const membership = on('transfers', 'GetItem', 'PutItem', 'UpdateItem');
  return {
    validate_request: {
      description: 'Checks the request and its machines, takes the lock of the destination',
      access: [
        on('transfers', 'GetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'),
        on('nodes', 'Query', 'DeleteItem'),
        data.putEvents(settings),
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
        data.sharedObjects(settings, 'GetObject'),
      ],
    },
    estimate_transfer: {
      description: 'Time and cost for each number of relay pairs, and the choice',
      access: [noteTimes, on('profiles', 'GetItem', 'BatchGetItem'), ...askMarkets(settings)],
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
      access: [readAndNote, on('profiles', 'GetItem', 'BatchGetItem'), ssm.readResults(), ...askMarkets(settings)],
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
        relays.terminateRelays(settings),
        ...ssm.commandLent(settings, 'stop'),
        ...keepLogs(settings),
      ],
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
    spawn_relays: {
      description: 'Launches relays in both regions',
      timeout: Duration.minutes(2),
      access: [
        membership,
        on('nodes', 'Query', 'PutItem', 'UpdateItem'),
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
      access: [membership, on('nodes', 'Query', 'UpdateItem'), ...startRelays(settings)],
    },
    pre_test_relays: {
      description: 'Measures each pair from the sender and terminates the slower half; ends what only measures',
      timeout: LONG,
      access: [
        on('transfers', 'GetItem', 'Query', 'PutItem', 'UpdateItem'),
        on('nodes', 'Query', 'UpdateItem'),
        on('control-tokens', 'GetItem'),
        data.sendTask('Success', 'Failure'),
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
    decide_approval: {
      description: 'Invoked by people: sends their answer to the transfer that waits for it',
      access: [on('transfers', 'GetItem'), on('control-tokens', 'GetItem'), data.sendTask('Success', 'Failure')],
    },
    estimate_request: {
      description: 'Invoked by people: what a request would take and cost, or the map of the network; starts nothing',
      access: [
        on('profiles', 'GetItem', 'BatchGetItem'),
        ...askMarkets(settings),
        relays.describe('RouteTables', 'SecurityGroups', 'Subnets'),
        ssm.findMachines(),
      ],
    },
    limit_transfer: {
      description: 'Invoked by people: changes what a running transfer may send',
      access: [
        membership,
        // Relays cost money while a higher limit is held against the budget.
        on('nodes', 'Query'),
      ],
    },
    teardown_request: {
      description: 'Invoked by people: takes down what a transfer has left, and stops it where it still runs',
      timeout: LONG,
      access: [
        ...tearDown(settings),
        ...report(settings),
        data.describeExecutions(settings),
        data.stopExecutions(settings),
      ],
    },
    retry_chunk: {
      description: 'Chunk Failed: another attempt, or the end of this chunk',
      access: [on('transfers', 'GetItem'), on('chunks', 'GetItem', 'UpdateItem')],
    },
    replace_relay: {
      description: 'Relay Lost, Relay Slow, Relay Warned: brings a successor where it pays, and takes the relay out; Rate Fell, Plan Due: decides about relays again',
      timeout: LONG,
      access: [
        on('transfers', 'GetItem', 'Query', 'PutItem', 'UpdateItem'),
        on('nodes', 'Query', 'PutItem', 'UpdateItem'),
        on('profiles', 'GetItem', 'BatchGetItem'),
        ...askMarkets(settings),
        relays.describe('RouteTables', 'SecurityGroupRules', 'Subnets'),
        data.putEvents(settings),
        ...relays.launchRelays(settings),
        ...startRelays(settings),
        ...keepLogs(settings),
        relays.closePaths(settings),
      ],
    },
    finish_transfer: {
      description: 'Transfer Delivered, Transfer Failed: notes the outcome, then releases the token',
      vital: true,
      access: [readAndNote, on('control-tokens', 'GetItem'), data.sendTask('Success', 'Failure')],
    },
    watch_ends: {
      description: 'Every minute: heartbeats, from records alone; tells of ends that have fallen silent',
      perishable: true,
      vital: true,
      access: [
        readAndNote,
        data.indexes(settings, 'transfers'),
        on('control-tokens', 'GetItem'),
        data.putEvents(settings),
        data.sendTask('Heartbeat'),
      ],
    },
    watch_transfers: {
      description: 'Every minute: has each active transfer looked at, and terminates relays of none',
      perishable: true,
      access: [
        on('transfers', 'GetItem'),
        data.indexes(settings, 'transfers'),
        data.putEvents(settings),
        relays.describe('Instances'),
        relays.terminateRelays(settings),
      ],
    },
    reconcile: {
      description: 'Look Due: what lost events of one transfer would have told, and what its budget demands',
      timeout: Duration.minutes(3),
      perishable: true,
      access: [
        on('transfers', 'GetItem', 'Query', 'PutItem', 'UpdateItem'),
        on('nodes', 'Query', 'UpdateItem'),
        on('chunks', 'Query', 'UpdateItem'),
        on('control-tokens', 'GetItem'),
        data.putEvents(settings),
        data.sendTask('Success', 'Failure'),
        data.describeExecutions(settings),
        relays.describe('Instances'),
        relays.terminateRelays(settings),
        ...ssm.commandLent(settings, 'stop'),
        ...keepLogs(settings),
      ],
    },
    restart_end: {
      description: 'End Silent: starts the end again, or gives its transfer up',
      timeout: Duration.minutes(3),
      access: [
        membership,
        on('nodes', 'Query'),
        on('control-tokens', 'GetItem'),
        relays.describe('Instances'),
        ...ssm.commandEnds(settings, 'receive', 'send'),
        ssm.readResults(),
        ssm.cancelCommands(),
        data.sendTask('Success', 'Failure'),
        data.describeExecutions(settings),
      ],
    },
    tell_machine_ends: {
      description: 'EC2’s events about machines that end, in batches: tells the transfers that they concern',
      // It asks tables alone: a batch takes half a second, and what failed is shown again after six times this.
      timeout: Duration.seconds(20),
      queued: true,
      access: [
        data.readMachineEnds(settings),
        on('nodes', 'GetItem'),
        data.indexes(settings, 'nodes'),
        data.indexes(settings, 'transfers'),
        data.putEvents(settings),
      ],
    },
    lose_end: {
      description: 'End Lost: fails at once the transfer whose end’s machine carries no more',
      access: [
        readAndNote,
        on('control-tokens', 'GetItem'),
        relays.describe('Instances'),
        data.sendTask('Success', 'Failure'),
      ],
    },
    watch_relays: {
      description: 'Every half minute: relays that carry far less than they should',
      // It sleeps half of its time, and judges some numbers in the other.
      memorySize: 256,
      timeout: Duration.minutes(2),
      perishable: true,
      access: [
        readAndNote,
        data.indexes(settings, 'transfers'),
        on('nodes', 'Query'),
        data.putEvents(settings),
      ],
    },
    start_from_object: {
      description: 'A request document in the control bucket: judges it, starts it, answers beside it',
      access: [...data.requestObjects(settings), ...startTransfers(settings)],
    },
    start_from_schedule: {
      description: 'A schedule is due: judges its request and starts it',
      access: startTransfers(settings),
    },
    sweep_execution: {
      description: 'An execution that was stopped, failed or timed out: tears down what it left and reports it',
      timeout: LONG,
      access: [...tearDown(settings), ...report(settings), data.describeExecutions(settings)],
    },
  };
}

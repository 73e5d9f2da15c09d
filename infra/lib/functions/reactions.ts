/**
 * Functions that a rule, a schedule or a queue of events invokes: what each does, how long it may take, and exactly what it may do.
 * tests/infra/test_permissions.py holds the permissions against the code.
 */

import { Duration } from 'aws-cdk-lib';
import { assumeAllowed, assumeBuckets } from '../access/buckets';
import * as data from '../access/control-data';
import { askMarkets, keepLogs, report, startRelays, startTransfers, tearDown } from '../access/groups';
import * as relays from '../access/relay-instances';
import * as ssm from '../access/run-commands';
import * as schedules from '../access/schedules';
import { Settings } from '../config';
import { Reaction } from '../names';
import { FunctionDefinition, LONG, tables } from './definition';

export function reactionFunctions(settings: Settings): Readonly<Record<Reaction, FunctionDefinition>> {
  const { on, readAndNote, membership } = tables(settings);
  const changeFleet = [
    on('transfers', 'GetItem', 'PutItem', 'UpdateItem'),
    on('nodes', 'Query', 'PutItem', 'UpdateItem'),
    ...data.pool(settings, 'GetItem', 'Query', 'PutItem', 'UpdateItem'),
    relays.describe('RouteTables', 'Subnets'),
    data.putEvents(settings),
    ...relays.launchRelays(settings),
    ...startRelays(settings),
    ...keepLogs(settings),
  ];
  return {
    retry_chunk: {
      description: 'Chunk Failed: another attempt, or the end of this chunk',
      access: [on('transfers', 'GetItem'), on('chunks', 'GetItem', 'UpdateItem')],
    },
    replace_relay: {
      description: 'Relay Lost, Relay Slow, Relay Warned: brings a successor where it pays, and takes the relay out',
      timeout: LONG,
      access: [...changeFleet, on('transfers', 'Query')],
    },
    grow_relays: {
      description: 'Rate Fell, Transfer Unpaused: decides about relays again, and launches those that pay now',
      timeout: LONG,
      access: [...changeFleet, on('profiles', 'GetItem', 'BatchGetItem'), ...askMarkets(settings)],
    },
    replan_routes: {
      description: 'Plan Due: plans routes again, and exchanges those that others are better than',
      timeout: LONG,
      access: [
        ...changeFleet,
        on('profiles', 'GetItem', 'BatchGetItem'),
        ...askMarkets(settings),
        relays.describe('SecurityGroupRules'),
        relays.closePaths(settings),
      ],
    },
    finish_transfer: {
      description: 'Transfer Delivered, Transfer Failed: notes the outcome, then releases the token; or retires a seat',
      vital: true,
      access: [
        membership,
        on('nodes', 'Query'),
        on('control-tokens', 'GetItem'),
        data.sendTask('Success', 'Failure'),
      ],
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
    watch_transfers: {
      description: 'Every minute: has each active transfer looked at, and terminates relays of none',
      perishable: true,
      access: [
        on('transfers', 'GetItem'),
        data.indexes(settings, 'transfers'),
        data.putEvents(settings),
        relays.describe('Instances'),
        relays.terminateRelays(settings),
        on('arrivals', 'Query'),
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
        ...data.pool(settings, 'GetItem', 'Query', 'UpdateItem'),
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
        data.putEventsOf(settings, 'Relay Lost', 'Relay Warned', 'End Lost'),
      ],
    },
    lose_end: {
      description: 'End Lost: retires at once the seat whose machine carries no more, or fails its transfer',
      access: [
        membership,
        on('nodes', 'Query'),
        on('control-tokens', 'GetItem'),
        relays.describe('Instances'),
        data.sendTask('Success', 'Failure'),
      ],
    },
    issue_credentials: {
      description: 'Credentials Wanted: keys for one bucket and prefix, sealed to the process of a seat',
      timeout: Duration.seconds(30),
      vital: true,
      access: [on('transfers', 'GetItem', 'PutItem'), assumeBuckets(settings)],
    },
    sweep_execution: {
      description: 'An execution that was stopped, failed or timed out: tears down what it left and reports it',
      timeout: LONG,
      access: [...tearDown(settings), ...report(settings), data.describeExecutions(settings)],
    },
    sweep_uploads: {
      description: 'Every day: removes uploads and notes from buckets that no run of their transfers goes on with',
      timeout: LONG,
      access: [
        on('transfers', 'GetItem'),
        data.indexes(settings, 'transfers'),
        data.listReminders(settings),
        data.reminders(settings, 'DeleteObject'),
        ...assumeAllowed(settings),
      ],
    },
    start_from_object: {
      description: 'A request document in the control bucket: judges it, starts it, answers beside it',
      access: [...data.requestObjects(settings), ...startTransfers(settings)],
    },
    start_from_schedule: {
      description: 'A schedule is due, or a person clicks Start on the dashboard: judges the request and starts it',
      access: startTransfers(settings),
    },
    collect_object: {
      description: 'Objects that starts collect, in batches: keeps each one, and sees to the window that will list it',
      // It asks one table, and Scheduler once a window.
      timeout: Duration.seconds(20),
      queued: true,
      access: [
        data.readArrivals(settings),
        on('arrivals', 'GetItem', 'PutItem', 'UpdateItem'),
        ...schedules.scheduleWindows(settings),
        data.putEventsOf(settings, 'Window Due'),
      ],
    },
    close_window: {
      description: 'Window Due: lists what has been collected, and starts a transfer of it',
      // 10^5 keys are sorted and written, and taken at the pace that a new table bears.
      timeout: LONG,
      memorySize: 1_769,
      access: [
        on('arrivals', 'GetItem', 'Query', 'PutItem', 'BatchWriteItem'),
        data.keyLists(settings, 'GetObject', 'PutObject'),
        ...schedules.scheduleWindows(settings),
        ...startTransfers(settings),
      ],
    },
    share_limits: {
      description: 'Every few seconds, where limits over several transfers hold: shares them out by need',
      // It sleeps most of its time.
      memorySize: 256,
      timeout: Duration.minutes(2),
      perishable: true,
      access: [membership, data.indexes(settings, 'transfers')],
    },
  };
}

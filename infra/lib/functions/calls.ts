/**
 * Functions that people invoke: what each does, how long it may take, and exactly what it may do.
 * tests/infra/test_permissions.py holds the permissions against the code.
 */

import { findClusters } from '../access/clusters';
import * as data from '../access/control-data';
import { askMarkets, report, tearDown } from '../access/groups';
import * as relays from '../access/relay-instances';
import * as ssm from '../access/run-commands';
import { Settings } from '../config';
import { Call } from '../names';
import { FunctionDefinition, LONG, tables } from './definition';

export function callFunctions(settings: Settings): Readonly<Record<Call, FunctionDefinition>> {
  const { on, membership } = tables(settings);
  return {
    cancel_transfer: {
      description: 'Invoked by people: stops a transfer; a rule takes down what it leaves',
      access: [on('transfers', 'GetItem'), data.describeExecutions(settings), data.stopExecutions(settings)],
    },
    decide_approval: {
      description: 'Invoked by people: sends their answer to the transfer that waits for it',
      access: [on('transfers', 'GetItem'), on('control-tokens', 'GetItem'), data.sendTask('Success', 'Failure')],
    },
    drain_seat: {
      description: 'Invoked by people: takes a machine out of a running transfer whose end has others',
      access: [membership, on('nodes', 'Query')],
    },
    estimate_request: {
      description: 'Invoked by people: what a request would take and cost, or the map of the network; starts nothing',
      access: [
        on('profiles', 'GetItem', 'BatchGetItem'),
        ...askMarkets(settings),
        relays.describe('RouteTables', 'SecurityGroups', 'Subnets'),
        ssm.findMachines(),
        findClusters(),
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
    limit_transfers: {
      description: 'Invoked by people: one limit over all transfers, or over those of a label',
      access: [membership, data.indexes(settings, 'transfers')],
    },
    pause_transfer: {
      description: 'Invoked by people: a running transfer sends nothing, and gives its relays back',
      access: [membership, data.putEventsOf(settings, 'Look Due')],
    },
    show_transfers: {
      description: 'Invoked by the dashboard for whoever looks at it: the transfers as HTML; changes nothing',
      access: [
        on('transfers', 'GetItem', 'Query', 'BatchGetItem'),
        data.indexes(settings, 'transfers'),
        on('nodes', 'Query'),
        // What a tenant has used of the pool, and paid.
        ...data.pool(settings, 'GetItem', 'Query'),
        data.listExecutions(settings),
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
    unpause_transfer: {
      description: 'Invoked by people: a paused transfer goes on',
      access: [membership, data.putEventsOf(settings, 'Transfer Unpaused')],
    },
  };
}

/** Each Lambda in one entry: what it does, how long it may take, and exactly what it may do. */

import { Duration } from 'aws-cdk-lib';
import { Access } from '../access/access';
import * as data from '../access/control-data';
import * as relays from '../access/relay-instances';
import * as ssm from '../access/run-commands';
import { Settings } from '../config';
import { Handler } from '../names';

export interface StageDefinition {
  readonly description: string;
  readonly access: readonly Access[];
  /** @default 60 s */
  readonly timeout?: Duration;
  /** @default 512 MB */
  readonly memorySize?: number;
}

// Lambda's own limit. These functions wait for machines; Await Relays stops by itself before it, for its retry to go on.
const LONG = Duration.minutes(15);

/** Definitions by handler. */
export function stageDefinitions(settings: Settings): Readonly<Record<Handler, StageDefinition>> {
  const on = data.table.bind(undefined, settings);
  const transfers = on('transfers', 'GetItem', 'Query', 'UpdateItem');
  const nodes = on('nodes', 'GetItem', 'Query', 'PutItem', 'UpdateItem');
  const readNodes = on('nodes', 'GetItem', 'Query');
  return {
    validate_request: {
      description: 'Checks the request against its schema and the accounts’ machines, takes the lock of the destination',
      access: [
        on('transfers', 'GetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'),
        data.idempotency(settings),
        data.putEvents(settings),
        relays.describeNetwork(),
        ssm.readCommands(),
      ],
    },
    resolve_paths: {
      description: 'Finds the address to use for each hop, probed from the machines themselves',
      timeout: LONG,
      access: [
        transfers, relays.describeNetwork(), ...relays.openPaths(settings),
        ...ssm.commandEnds(settings, 'probe', 'stop'), ssm.readCommands(),
      ],
    },
    survey_ends: {
      description: 'Lists the source and checks the destination',
      timeout: LONG,
      access: [transfers, data.transferObjects(settings, 'GetObject'), ...ssm.commandEnds(settings, 'scan'), ssm.readCommands()],
    },
    estimate_transfer: {
      description: 'Time and cost for each number of relay pairs, and the choice',
      access: [
        transfers, on('profiles', 'GetItem', 'BatchGetItem', 'Query'), data.transferObjects(settings, 'GetObject'),
        relays.describeInstances('DescribeInstanceTypes'),
      ],
    },
    plan_chunks: {
      description: 'Cuts and packs the listing into chunks; writes their items and manifests',
      timeout: LONG,
      memorySize: 2048,
      access: [
        transfers, on('chunks', 'Query', 'PutItem', 'BatchWriteItem'),
        data.transferObjects(settings, 'GetObject', 'PutObject', 'AbortMultipartUpload'), data.listTransferObjects(settings),
      ],
    },
    start_transfer: {
      description: 'Keeps the task token, starts receiver and sender',
      timeout: LONG,
      access: [
        transfers, on('control-tokens', 'GetItem', 'PutItem', 'UpdateItem', 'DeleteItem'), data.idempotency(settings),
        ...ssm.commandEnds(settings, 'receive', 'send'), ssm.readCommands(), data.sendTask('Success', 'Failure'),
      ],
    },
    spawn_relays: {
      description: 'Launches relays in both regions',
      access: [
        transfers, nodes, data.idempotency(settings), relays.describeNetwork(), ...relays.launchRelays(settings),
        relays.terminateRelays(settings), ...relays.openPaths(settings),
      ],
    },
    await_relays: {
      description: 'Waits until relays run and SSM manages them, and starts their daemons',
      timeout: LONG,
      access: [
        transfers, nodes, relays.describeNetwork(), relays.terminateRelays(settings), ...relays.openPaths(settings),
        ...ssm.commandRelays(settings, 'relay'), ssm.readCommands(),
      ],
    },
    pre_test_relays: {
      description: 'Measures each pair through the sender’s own lanes and terminates the slower half',
      timeout: LONG,
      access: [
        on('transfers', 'GetItem', 'Query', 'PutItem', 'UpdateItem'), nodes, on('profiles', 'GetItem', 'PutItem', 'UpdateItem'),
        relays.describeInstances(), relays.terminateRelays(settings),
      ],
    },
    join_relays: {
      description: 'Adds the pairs to the membership that the sender follows',
      access: [on('transfers', 'GetItem', 'Query', 'PutItem', 'UpdateItem'), nodes],
    },
    verify_transfer: {
      description: 'Compares the digests of both ends',
      memorySize: 2048,
      timeout: LONG,
      access: [
        transfers, on('chunks', 'GetItem', 'Query'), data.transferObjects(settings, 'GetObject'), data.listTransferObjects(settings),
      ],
    },
    tear_down: {
      description: 'Fences the transfer, stops the daemons, terminates the relays, revokes the rules, gives the lock back',
      timeout: LONG,
      access: tearDown(settings),
    },
    write_report: {
      description: 'Writes the report and the samples of the profile',
      timeout: LONG,
      access: [
        on('transfers', 'GetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'), readNodes, on('chunks', 'Query'),
        on('profiles', 'GetItem', 'PutItem', 'UpdateItem'), data.transferObjects(settings, 'GetObject', 'PutObject'),
        data.listTransferObjects(settings), data.putEvents(settings), data.idempotency(settings),
      ],
    },
    retry_chunk: {
      description: 'Chunk Failed: another attempt, or the end of this chunk',
      access: [on('transfers', 'GetItem'), on('chunks', 'GetItem', 'UpdateItem')],
    },
    replace_relay: {
      description: 'Relay Lost, instance events: takes the relay out of the membership and replaces it',
      timeout: LONG,
      access: [
        on('transfers', 'GetItem', 'Query', 'PutItem', 'UpdateItem'), nodes, data.index(settings, 'nodes', 'by-instance'),
        data.idempotency(settings), relays.describeNetwork(), ...relays.launchRelays(settings), relays.terminateRelays(settings),
        ...relays.openPaths(settings), ...ssm.commandRelays(settings, 'relay'), ssm.readCommands(),
      ],
    },
    finish_transfer: {
      description: 'Transfer Delivered, Transfer Failed: notes the outcome, then releases the token',
      access: [
        transfers, on('control-tokens', 'GetItem', 'Query', 'UpdateItem', 'DeleteItem'), data.sendTask('Success', 'Failure'),
      ],
    },
    reconcile: {
      description: 'Every minute: heartbeats while both ends advance, what lost events would have told, instances nobody owns',
      access: [
        transfers, data.index(settings, 'transfers', 'active'), on('chunks', 'GetItem', 'Query', 'UpdateItem'), readNodes,
        on('control-tokens', 'GetItem', 'Query', 'UpdateItem', 'DeleteItem'), data.sendTask('Success', 'Failure', 'Heartbeat'),
        data.putEvents(settings), data.describeExecutions(settings), relays.describeInstances(), relays.terminateRelays(settings),
      ],
    },
    sweep_execution: {
      description: 'An execution that was stopped, failed or timed out: tears down what it left',
      timeout: LONG,
      access: [...tearDown(settings), data.describeExecutions(settings)],
    },
  };
}

function tearDown(settings: Settings): Access[] {
  return [
    data.table(settings, 'transfers', 'GetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'),
    data.table(settings, 'nodes', 'GetItem', 'Query', 'UpdateItem'),
    data.table(settings, 'control-tokens', 'GetItem', 'Query', 'UpdateItem', 'DeleteItem'),
    relays.describeNetwork(),
    relays.terminateRelays(settings),
    ...relays.closePaths(settings),
    ...ssm.commandEnds(settings, 'stop'),
    ssm.readCommands(),
  ];
}

/** What several Lambdas may do for the same purpose. */

import { Settings } from '../config';
import { Access } from './access';
import { assumeAllowed } from './buckets';
import { findClusters } from './clusters';
import * as data from './control-data';
import * as markets from './markets';
import * as relays from './relay-instances';
import * as ssm from './run-commands';

/** What the estimate asks of AWS: prices, and what instance types can do, are offered for and are left of. */
export function askMarkets(settings: Settings): Access[] {
  return [
    data.priceCache(settings),
    // What stands in the pool need not be launched.
    ...data.pool(settings, 'Query'),
    markets.readPriceList(),
    markets.readQuotas(),
    markets.readSpotRole(),
    relays.describe('Instances', 'InstanceTypes', 'InstanceTypeOfferings', 'SpotPriceHistory'),
  ];
}

/** What an estimate asks for that has a survey: the file systems that ends were seen on, too. */
export function askAboutEnds(settings: Settings): Access[] {
  return [...askMarkets(settings), ...(settings.readFileSystems ? markets.readFileSystems() : [])];
}

/** Judges a request as Validate Request does, and starts an execution. */
export function startTransfers(settings: Settings): Access[] {
  return [
    data.startExecutions(settings),
    data.putEvents(settings),
    ...lookAtMachines(),
  ];
}

/** What a request names: machines, clusters of them, and third regions whose VPCs private addresses must join with those of the ends. */
export function lookAtMachines(): Access[] {
  return [
    relays.describe('Instances', 'RouteTables', 'SecurityGroups', 'Subnets'),
    ssm.findMachines(),
    findClusters(),
  ];
}

/** From launched to ready, and out again where that fails. */
export function startRelays(settings: Settings): Access[] {
  return [
    relays.describe('Instances', 'SecurityGroups'),
    relays.terminateRelays(settings),
    ...relays.openPaths(settings),
    ...ssm.commandRelays(settings, 'relay'),
    ...ssm.commandLent(settings, 'relay', 'stop'),
    ssm.findMachines(),
    ssm.listInvocations(),
    ssm.readResults(),
  ];
}

/** To have the destination's daemon remove what a list names, which is another's. */
export function removal(settings: Settings): Access[] {
  return [
    data.table(settings, 'transfers', 'GetItem', 'UpdateItem'),
    ...ssm.commandEnds(settings, 'delete'),
    ssm.readResults(),
    ssm.cancelCommands(),
    data.sharedObjects(settings, 'GetObject'),
  ];
}

/** Reads relays' logs by Run Command before they are terminated. */
function readLogs(settings: Settings): Access[] {
  return [...ssm.commandRelays(settings, 'log'), ssm.readResults()];
}

/** The same, and writes them into the bucket. */
export function keepLogs(settings: Settings): Access[] {
  return [...readLogs(settings), data.logObjects(settings)];
}

/** All that a teardown does but for writing logs, which whoever writes reports may do too. */
export function tearDown(settings: Settings): Access[] {
  return [
    data.table(settings, 'transfers', 'GetItem', 'PutItem', 'UpdateItem'),
    data.indexes(settings, 'transfers'),
    data.table(settings, 'nodes', 'Query', 'UpdateItem'),
    ...data.pool(settings, 'GetItem', 'Query', 'UpdateItem'),
    data.table(settings, 'control-tokens', 'DeleteItem'),
    data.sharedObjects(settings, 'DeleteObject'),
    data.listSharedObjects(settings),
    ...readLogs(settings),
    relays.describe('Instances', 'SecurityGroupRules'),
    relays.terminateRelays(settings),
    ...relays.openPaths(settings),
    relays.closePaths(settings),
    // A scan takes the mark away that a survey has left in a destination.
    ...ssm.commandEnds(settings, 'stop', 'scan'),
    // Without the condition on ends, machines that were lent are among those that may be commanded.
    ...(settings.requireConsent ? ssm.commandLent(settings, 'stop') : []),
    ssm.cancelCommands(),
    // Uploads of copies that nobody completes are aborted.
    data.copyNotes(settings, 'GetObject', 'DeleteObject'),
    data.listCopyNotes(settings),
    data.reminders(settings, 'PutObject'),
    ...assumeAllowed(settings),
  ];
}

export function report(settings: Settings): Access[] {
  return [
    data.table(settings, 'chunks', 'Query'),
    data.table(settings, 'nodes', 'Query'),
    data.table(settings, 'profiles', 'GetItem', 'UpdateItem'),
    // A report of what was left out reads its list.
    data.transferObjects(settings, 'GetObject', 'PutObject'),
    data.listTransferObjects(settings),
    data.copyNotes(settings, 'GetObject'),
    data.listCopyNotes(settings),
    data.putEvents(settings),
    ...data.chargePool(settings),
    ...(settings.tenants.length > 0 ? [data.tenantLedgers(settings)] : []),
  ];
}

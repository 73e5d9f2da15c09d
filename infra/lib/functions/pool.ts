/**
 * Functions of the pool's own stack: what each does, how long it may take, and exactly what it may do.
 * tests/infra/test_permissions.py holds the permissions against the code.
 */

import { Duration } from 'aws-cdk-lib';
import * as data from '../access/control-data';
import * as relays from '../access/relay-instances';
import { Settings } from '../config';
import { PoolHandler } from '../names';
import { FunctionDefinition, tables } from './definition';

export function poolFunctions(settings: Settings): Readonly<Record<PoolHandler, FunctionDefinition>> {
  const { on } = tables(settings);
  return {
    keep_pool: {
      description: 'Every minute, and as transfers come and go: begins and ends nodes of the pool, and takes back leases of transfers that are over',
      timeout: Duration.minutes(2),
      perishable: true,
      access: [
        on('transfers', 'GetItem'),
        on('nodes', 'Query'),
        data.indexes(settings, 'transfers'),
        ...data.pool(settings, 'GetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'),
        relays.describe('Instances', 'InstanceTypes', 'InstanceTypeOfferings', 'RouteTables', 'SecurityGroups', 'Subnets'),
        ...relays.launchNodes(settings),
        relays.terminateRelays(settings),
      ],
    },
  };
}

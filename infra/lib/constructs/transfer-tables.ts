/** The tables of the control plane; keys and indexes as in docs/design/001-borders.md. */

import { RemovalPolicy } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import { Settings } from '../config';
import { TableName, tableName } from '../names';
import { removal } from './removal';

interface IndexDefinition {
  readonly name: string;
  readonly partition: string;
  readonly sort?: string;
  /** Attributes beside the keys. Only those that a write changes are written to the index. @default all */
  readonly holds?: readonly string[];
}

interface TableDefinition {
  readonly partition: string;
  readonly sort?: string;
  /** Attribute with the expiry in Unix seconds; deletion may be two days late. */
  readonly expiry?: string;
  readonly indexes?: readonly IndexDefinition[];
  /** Has history that cannot be made again: kept with the stack's other data. */
  readonly data?: boolean;
}

const DEFINITIONS: Readonly<Record<TableName, TableDefinition>> = {
  transfers: {
    partition: 'transferId',
    sort: 'record',
    data: true,
    indexes: [
      // DynamoDB cannot change what an index holds, and a table gets or loses one index in a deployment: this one is read only
      // until the other one is built, and goes in the next release.
      { name: 'active', partition: 'active', sort: 'transferId' },
      { name: 'running', partition: 'active', sort: 'transferId', holds: ['source', 'destination'] },
    ],
  },
  chunks: { partition: 'rangeKey', sort: 'itemKey', expiry: 'expiresAt' },
  nodes: {
    partition: 'transferId',
    sort: 'nodeId',
    indexes: [
      // As above.
      { name: 'by-instance', partition: 'instanceId' },
      { name: 'of-instance', partition: 'instanceId', holds: [] },
    ],
  },
  profiles: { partition: 'subject', sort: 'regionPair', data: true },
  'control-tokens': { partition: 'transferId', sort: 'task' },
  idempotency: { partition: 'id', expiry: 'expiration' },
  arrivals: { partition: 'collection', sort: 'item', expiry: 'expiresAt' },
};

export class TransferTables extends Construct {
  public readonly tables: Readonly<Record<TableName, dynamodb.Table>>;

  public constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    const entries = Object.entries(DEFINITIONS).map(([name, definition]) => [
      name,
      this.table(settings, name as TableName, definition),
    ]);
    this.tables = Object.fromEntries(entries) as Record<TableName, dynamodb.Table>;
  }

  private table(settings: Settings, name: TableName, definition: TableDefinition): dynamodb.Table {
    const table = new dynamodb.Table(this, name, {
      tableName: tableName(settings, name),
      partitionKey: key(definition.partition),
      ...(definition.sort && { sortKey: key(definition.sort) }),
      ...(definition.expiry && { timeToLiveAttribute: definition.expiry }),
      billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
      encryption: dynamodb.TableEncryption.AWS_MANAGED,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      removalPolicy: definition.data ? removal(settings.dataOnDestroy) : RemovalPolicy.DESTROY,
    });
    for (const { name: indexName, partition, sort, holds } of definition.indexes ?? []) {
      table.addGlobalSecondaryIndex({
        indexName,
        partitionKey: key(partition),
        ...(sort && { sortKey: key(sort) }),
        ...projection(holds),
      });
    }
    return table;
  }
}

function projection(holds: readonly string[] | undefined): Pick<dynamodb.GlobalSecondaryIndexProps, 'projectionType' | 'nonKeyAttributes'> {
  if (holds === undefined) return { projectionType: dynamodb.ProjectionType.ALL };
  if (holds.length === 0) return { projectionType: dynamodb.ProjectionType.KEYS_ONLY };
  return { projectionType: dynamodb.ProjectionType.INCLUDE, nonKeyAttributes: [...holds] };
}

function key(name: string): dynamodb.Attribute {
  return { name, type: dynamodb.AttributeType.STRING };
}

/** The tables of the control plane; keys and indexes as in docs/design/001-borders.md. */

import { RemovalPolicy } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import { Settings } from '../config';
import { TableName, tableName } from '../names';
import { removal } from './removal';

interface TableDefinition {
  readonly partition: string;
  readonly sort?: string;
  /** Attribute with the expiry in Unix seconds; deletion may be two days late. */
  readonly expiry?: string;
  readonly index?: { readonly name: string; readonly partition: string; readonly sort?: string };
  /** Has history that cannot be made again: kept with the stack's other data. */
  readonly data?: boolean;
}

const DEFINITIONS: Readonly<Record<TableName, TableDefinition>> = {
  transfers: {
    partition: 'transferId',
    sort: 'record',
    data: true,
    index: { name: 'active', partition: 'active', sort: 'transferId' },
  },
  chunks: { partition: 'rangeKey', sort: 'itemKey', expiry: 'expiresAt' },
  nodes: {
    partition: 'transferId',
    sort: 'nodeId',
    index: { name: 'by-instance', partition: 'instanceId' },
  },
  profiles: { partition: 'subject', sort: 'regionPair', data: true },
  'control-tokens': { partition: 'transferId', sort: 'task' },
  idempotency: { partition: 'id', expiry: 'expiration' },
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
    if (definition.index) {
      table.addGlobalSecondaryIndex({
        indexName: definition.index.name,
        partitionKey: key(definition.index.partition),
        ...(definition.index.sort && { sortKey: key(definition.index.sort) }),
        projectionType: dynamodb.ProjectionType.ALL,
      });
    }
    return table;
  }
}

function key(name: string): dynamodb.Attribute {
  return { name, type: dynamodb.AttributeType.STRING };
}

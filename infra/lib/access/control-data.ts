/** What functions may do with the tables, the bucket, the bus and the executions of the control plane. */

import { Aws } from 'aws-cdk-lib';
import {
  ADDED_STARTS,
  approvalTopicName,
  arn,
  arrivalsQueueName,
  controlBucketName,
  COPIES_PREFIX,
  ENDS_PREFIX,
  KEYS_PREFIX,
  machineEndsQueueName,
  objectStartRuleName,
  POOL_TABLE,
  PRICES_KEY,
  REQUESTS_PREFIX,
  RESTORES_PREFIX,
  stateMachineArn,
  stateMachineName,
  TableName,
  tableName,
  TRANSFERS_PREFIX,
  UNFINISHED_PREFIX,
  wavesMachineArn,
  wavesMachineName,
} from '../names';
import { Settings } from '../config';
import { Access } from './access';

export type ItemAction = 'GetItem' | 'BatchGetItem' | 'Query' | 'PutItem' | 'UpdateItem' | 'DeleteItem' | 'BatchWriteItem';

/** Named item actions on one table. */
export function table(settings: Settings, name: TableName, ...actions: readonly ItemAction[]): Access {
  return {
    actions: actions.map((action) => `dynamodb:${action}`),
    resources: [arn('dynamodb', settings.homeRegion, `table/${tableName(settings, name)}`)],
  };
}

/** Item actions on the pool's table, or all of it; none where there is no pool. */
export function pool(settings: Settings, ...actions: readonly (ItemAction | 'Scan')[]): Access[] {
  if (settings.pool.length === 0) return [];
  const resources = [arn('dynamodb', settings.homeRegion, `table/${tableName(settings, POOL_TABLE)}`)];
  return [{ actions: actions.map((action) => `dynamodb:${action}`), resources }];
}

/** Says what a transfer has paid for the pool; `lambdas/adapters/dynamodb_pool_accounts.py` has these keys too. */
export function chargePool(settings: Settings): Access[] {
  return pool(settings, 'PutItem').map((access) => ({
    ...access,
    conditions: {
      'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['charges#*'] },
      // ForAllValues holds for a call that names no key at all.
      Null: { 'dynamodb:LeadingKeys': 'false' },
    },
  }));
}

/** The one item of the table of arrivals that has the starts by objects that people add. */
export function addedStarts(settings: Settings, ...actions: readonly ('GetItem' | 'PutItem')[]): Access {
  return {
    ...table(settings, 'arrivals', ...actions),
    conditions: {
      'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [ADDED_STARTS] },
      // ForAllValues holds for a call that names no key at all.
      Null: { 'dynamodb:LeadingKeys': 'false' },
    },
  };
}

/** What tenants' transfers hold and have spent; `lambdas/adapters/dynamodb_tenant_ledgers.py` has these keys too. */
export function tenantLedgers(settings: Settings): Access {
  return {
    ...table(settings, 'transfers', 'GetItem', 'PutItem'),
    conditions: {
      'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['tenant#*'] },
      // ForAllValues holds for a call that names no key at all.
      Null: { 'dynamodb:LeadingKeys': 'false' },
    },
  };
}

/** Reads the rules of starts by objects that were deployed. */
export function readStartRules(settings: Settings): Access[] {
  const rules = (bus: string): string => arn('events', settings.homeRegion, `rule/${bus}${objectStartRuleName(settings, '*')}`);
  return [
    {
      actions: ['events:ListRules'],
      resources: ['*'],
      why: 'EventBridge evaluates this action without a resource.',
    },
    {
      actions: ['events:ListTargetsByRule'],
      resources: [rules(''), rules(`${settings.name}/`)],
      why: 'Whoever writes a start into the settings chooses its name.',
    },
  ];
}

/** Which indexes find something: the one that holds little, and the one before it, until it is built. */
const FINDING = { transfers: ['running', 'active'], nodes: ['of-instance', 'by-instance'] } as const;

/** Query on the indexes of a table, not on the table. */
export function indexes(settings: Settings, name: keyof typeof FINDING): Access {
  const index = (one: string): string => arn('dynamodb', settings.homeRegion, `table/${tableName(settings, name)}/index/${one}`);
  return { actions: ['dynamodb:Query'], resources: FINDING[name].map(index) };
}

/** What Powertools' idempotency layer does with its table; a refused PutItem gives back the item that is there. */
export function idempotency(settings: Settings): Access {
  return table(settings, 'idempotency', 'PutItem', 'UpdateItem', 'DeleteItem');
}

/** Object actions under `transfers/`. */
export function transferObjects(
  settings: Settings,
  ...actions: readonly ('GetObject' | 'PutObject' | 'DeleteObject')[]
): Access {
  return {
    actions: actions.map((action) => `s3:${action}`),
    resources: [`${bucketArn(settings)}/${TRANSFERS_PREFIX}*`],
    why: 'The keys contain the ids of transfers, which are not known at deployment.',
  };
}

/** Object actions on what is noted of copies between buckets, and its listing. */
export function copyNotes(
  settings: Settings,
  ...actions: readonly ('GetObject' | 'PutObject' | 'DeleteObject')[]
): Access {
  return {
    actions: actions.map((action) => `s3:${action}`),
    resources: [`${bucketArn(settings)}/${COPIES_PREFIX}*`],
    why: 'The keys name two ends and a plan, which are not known at deployment.',
  };
}

/** Listing of keys under `copies/`. */
export function listCopyNotes(settings: Settings): Access {
  return {
    actions: ['s3:ListBucket'],
    resources: [bucketArn(settings)],
    conditions: { StringLike: { 's3:prefix': `${COPIES_PREFIX}*` } },
  };
}

/** Object actions on what is noted of archived objects that are restored. */
export function restoreNotes(settings: Settings, ...actions: readonly ('GetObject' | 'PutObject')[]): Access {
  return {
    actions: actions.map((action) => `s3:${action}`),
    resources: [`${bucketArn(settings)}/${RESTORES_PREFIX}*`],
    why: 'The keys name a plan, which is not known at deployment.',
  };
}

/** Listing of keys under `restores/`. */
export function listRestoreNotes(settings: Settings): Access {
  return {
    actions: ['s3:ListBucket'],
    resources: [bucketArn(settings)],
    conditions: { StringLike: { 's3:prefix': `${RESTORES_PREFIX}*` } },
  };
}

/** Object actions on reminders of what transfers have left in buckets. */
export function reminders(settings: Settings, action: 'PutObject' | 'DeleteObject'): Access {
  return {
    actions: [`s3:${action}`],
    resources: [`${bucketArn(settings)}/${UNFINISHED_PREFIX}*`],
    why: 'The keys contain the ids of transfers, which are not known at deployment.',
  };
}

/** Their listing. */
export function listReminders(settings: Settings): Access {
  return {
    actions: ['s3:ListBucket'],
    resources: [bucketArn(settings)],
    conditions: { StringLike: { 's3:prefix': `${UNFINISHED_PREFIX}*` } },
  };
}

/** Writes what machines of a transfer have logged. */
export function logObjects(settings: Settings): Access {
  return {
    actions: ['s3:PutObject'],
    resources: [`${bucketArn(settings)}/${TRANSFERS_PREFIX}*/logs/*`],
    why: 'The keys contain the ids of transfers and relays, which are not known at deployment.',
  };
}

/** Object actions under `ends/`: what the ends of transfers read and write too. */
export function sharedObjects(
  settings: Settings,
  ...actions: readonly ('GetObject' | 'PutObject' | 'DeleteObject')[]
): Access {
  return {
    actions: actions.map((action) => `s3:${action}`),
    resources: [`${bucketArn(settings)}/${ENDS_PREFIX}*`],
    why: 'The keys contain the ids of machines and transfers, which are not known at deployment.',
  };
}

/** Reads request documents, and writes the answers beside them. */
export function requestObjects(settings: Settings): Access[] {
  const requests = `${bucketArn(settings)}/${REQUESTS_PREFIX}`;
  const why = 'Whoever writes a request document chooses its key.';
  return [
    { actions: ['s3:GetObject'], resources: [`${requests}*.json`], why },
    { actions: ['s3:PutObject'], resources: [`${requests}*.started.json`, `${requests}*.error.json`], why },
  ];
}

/** Writes lists of keys, and reads them. */
export function keyLists(settings: Settings, ...actions: readonly ('GetObject' | 'PutObject')[]): Access {
  return {
    actions: actions.map((action) => `s3:${action}`),
    resources: [`${bucketArn(settings)}/${KEYS_PREFIX}*`],
    why: 'A list is named by the digest of its content, which is not known at deployment.',
  };
}

/** The one object with prices that were asked for earlier. */
export function priceCache(settings: Settings): Access {
  return { actions: ['s3:GetObject', 's3:PutObject'], resources: [`${bucketArn(settings)}/${PRICES_KEY}`] };
}

/** Listing of keys under `transfers/`. */
export function listTransferObjects(settings: Settings): Access {
  return {
    actions: ['s3:ListBucket'],
    resources: [bucketArn(settings)],
    conditions: { StringLike: { 's3:prefix': `${TRANSFERS_PREFIX}*` } },
  };
}

export function putEvents(settings: Settings): Access {
  return {
    actions: ['events:PutEvents'],
    resources: [arn('events', settings.homeRegion, `event-bus/${settings.name}`)],
  };
}

/** The same of these types alone, as the control plane. */
export function putEventsOf(settings: Settings, ...types: readonly string[]): Access {
  return {
    ...putEvents(settings),
    conditions: {
      'ForAllValues:StringEquals': { 'events:source': 'cpt.control', 'events:detail-type': [...types] },
      // ForAllValues holds for a call that names no key at all.
      Null: { 'events:source': 'false', 'events:detail-type': 'false' },
    },
  };
}

/** Tells the pool that a transfer has leases in it; nothing where there is none. */
export function tellPool(settings: Settings): Access[] {
  return settings.pool.length === 0 ? [] : [putEventsOf(settings, 'Pool Leased')];
}

/** What Lambda does under a function's role that reads the queue. */
export function readMachineEnds(settings: Settings): Access {
  return readQueue(settings, machineEndsQueueName(settings));
}

/** The same for the queue of objects that are collected. */
export function readArrivals(settings: Settings): Access {
  return readQueue(settings, arrivalsQueueName(settings));
}

function readQueue(settings: Settings, name: string): Access {
  return {
    actions: ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'],
    resources: [arn('sqs', settings.homeRegion, name)],
  };
}

/** Letters to those who subscribed to the topic of approvals. */
export function sendLetters(settings: Settings): Access {
  return { actions: ['sns:Publish'], resources: [arn('sns', settings.homeRegion, approvalTopicName(settings))] };
}

/** Answers to task tokens. */
export function sendTask(...answers: readonly ('Success' | 'Failure' | 'Heartbeat')[]): Access {
  return {
    actions: answers.map((answer) => `states:SendTask${answer}`),
    resources: ['*'],
    why: 'Step Functions evaluates these actions without a resource. The task token is the credential.',
  };
}

/** Starts executions. */
export function startExecutions(settings: Settings): Access {
  return { actions: ['states:StartExecution'], resources: [stateMachineArn(settings)] };
}

/** Ends executions that somebody wants to end. */
export function stopExecutions(settings: Settings): Access {
  return { ...describeExecutions(settings), actions: ['states:StopExecution'] };
}

export function listExecutions(settings: Settings): Access {
  return { actions: ['states:ListExecutions'], resources: [stateMachineArn(settings)] };
}

export function describeExecutions(settings: Settings): Access {
  return {
    actions: ['states:DescribeExecution'],
    resources: [arn('states', settings.homeRegion, `execution:${stateMachineName(settings)}:*`)],
    why: 'Whoever starts an execution chooses its name.',
  };
}

/** Starts waves, and the cutover that ends them. */
export function startWaves(settings: Settings): Access {
  return {
    actions: ['states:StartExecution'],
    resources: [wavesMachineArn(settings)],
  };
}

export function describeWaves(settings: Settings): Access {
  return {
    actions: ['states:DescribeExecution'],
    resources: [arn('states', settings.homeRegion, `execution:${wavesMachineName(settings)}:*`)],
    why: 'Whoever starts waves chooses the name of the execution.',
  };
}

/**
 * What Step Functions does under a state machine's role that starts executions and waits for their end. The rule is its own, and
 * the same in every account. Source: Step Functions Developer Guide, "Start workflow executions", IAM policies.
 */
export function runExecutions(settings: Settings): Access[] {
  return [
    startExecutions(settings),
    describeExecutions(settings),
    stopExecutions(settings),
    {
      actions: ['events:PutTargets', 'events:PutRule', 'events:DescribeRule'],
      resources: [arn('events', settings.homeRegion, 'rule/StepFunctionsGetEventsForStepFunctionsExecutionRule')],
    },
  ];
}

/** Listing of keys under `ends/`. */
export function listSharedObjects(settings: Settings): Access {
  return {
    actions: ['s3:ListBucket'],
    resources: [bucketArn(settings)],
    conditions: { StringLike: { 's3:prefix': `${ENDS_PREFIX}*` } },
  };
}

export function bucketArn(settings: Settings): string {
  return `arn:${Aws.PARTITION}:s3:::${controlBucketName(settings)}`;
}

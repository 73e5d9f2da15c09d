/** What functions may do with the tables, the bucket, the bus and the executions of the control plane. */

import { Aws } from 'aws-cdk-lib';
import {
  approvalTopicName,
  arn,
  controlBucketName,
  ENDS_PREFIX,
  machineEndsQueueName,
  PRICES_KEY,
  REQUESTS_PREFIX,
  stateMachineArn,
  stateMachineName,
  TableName,
  tableName,
  TRANSFERS_PREFIX,
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

/** What Lambda does under a function's role that reads the queue. */
export function readMachineEnds(settings: Settings): Access {
  return {
    actions: ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'],
    resources: [arn('sqs', settings.homeRegion, machineEndsQueueName(settings))],
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

export function describeExecutions(settings: Settings): Access {
  return {
    actions: ['states:DescribeExecution'],
    resources: [arn('states', settings.homeRegion, `execution:${stateMachineName(settings)}:*`)],
    why: 'Whoever starts an execution chooses its name.',
  };
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

/** The physical names of docs/design/001-borders.md, each derived in one place. */

import { Aws } from 'aws-cdk-lib';
import { createHash } from 'node:crypto';
import { Settings } from './config';
import { Handler, State, WaveState } from './handlers';

export * from './handlers';

/** Roles of `cpt-relay` that an SSM document starts; `log`, which prints a relay's log; and `stop`. */
export const DOCUMENTS = ['scan', 'delete', 'receive', 'send', 'relay', 'probe', 'log', 'stop'] as const;
export type Document = (typeof DOCUMENTS)[number];

export const TABLES = ['transfers', 'chunks', 'nodes', 'profiles', 'control-tokens', 'idempotency', 'arrivals'] as const;
export type TableName = (typeof TABLES)[number];

/** Table of the pool's nodes and leases, of its own stack: `cpt-pool`. */
export const POOL_TABLE = 'pool';

/** Ports of leases end here: twice as many as a node has leases, from the first; `lambdas/core/pool/pool_node.py` has it too. */
export const LAST_LEASE_PORT = 4631;

/** Ports that daemons listen on: relays the first, each receiver one of the others. */
export const DAEMON_PORTS = { first: 4600, last: 4615 };

/** Processors that the daemon is built for, as EC2 names them: `x86_64` always, `arm64` where somebody built it. */
export const ARCHITECTURES = ['x86_64', 'arm64'] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

/** Where a region's daemon lies and what its bytes hash to. */
export interface DaemonAsset {
  /** The region's asset bucket, with the account as a pseudo parameter. */
  readonly bucket: string;
  /** Made from the file alone, so the same in every region. */
  readonly key: string;
  /** SHA-256 of the file, hex. */
  readonly sha256: string;
}

/** One region's daemons, by the processor that they run on. */
export type RegionDaemons = Readonly<Partial<Record<Architecture, DaemonAsset>>>;

/** Tag that all of a deployment's resources and instances carry; its value is the deployment's name. */
export const DEPLOYMENT_TAG = 'cpt:deployment';

/** Tags of what is not tagged by the stack: relays, images, and the machines that build these. */
export function allTags(settings: Settings): Record<string, string> {
  return { ...settings.tags, [DEPLOYMENT_TAG]: settings.name };
}

/** Tag by which an owner lends a machine to a deployment, whose name is its value, as a relay. */
export const LENT_TAG = 'cpt:lent-to';

/** Tag by which an owner lets a deployment, whose name is its value, use a machine as an end; `lambdas/core/seats/consent.py` has it too. */
export const END_TAG = 'cpt:end';

/** Prefix of the control bucket under which what the control plane alone keeps of a transfer lies. */
export const TRANSFERS_PREFIX = 'transfers/';

/** Prefix of the control bucket under which what the ends of a transfer share lies; its key names both machines. */
export const ENDS_PREFIX = 'ends/';

/** Prefix of the control bucket with what is noted of copies between buckets; `lambdas/operations/copies/notebook.py` has it too. */
export const COPIES_PREFIX = 'copies/';

/** Prefix of the control bucket with what is noted of restored objects; `lambdas/operations/restores/notebook.py` has it too. */
export const RESTORES_PREFIX = 'restores/';

/** Prefix of the control bucket with reminders of what transfers have left in buckets; `lambdas/operations/leftovers.py` has it too. */
export const UNFINISHED_PREFIX = 'unfinished/';

/** Prefix of the control bucket under which request documents start transfers; `lambdas/core/intake/starts.py` has it too. */
export const REQUESTS_PREFIX = 'requests/';

/**
 * Prefix under which one tenant's request documents lie. No plain folder: it means a tenant also once he is no longer configured,
 * so what he writes then is refused, and never taken for the operator's. `lambdas/core/intake/starts.py` has it too.
 */
export function tenantRequestsPrefix(tenant: string): string {
  return `${REQUESTS_PREFIX}tenant=${tenant}/`;
}

/** Prefix of the control bucket under which lists of keys lie; `lambdas/core/ends/key_list.py` has it too. */
export const KEYS_PREFIX = 'keys/';

/** Key of the control bucket with AWS's prices; `lambdas/adapters/price_cache.py` reads and writes it. */
export const PRICES_KEY = 'prices.json';

/** `spawn_relays` → `SpawnRelays`. */
export function pascalCase(handler: string): string {
  return handler.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** `spawn_relays` → `cpt-spawn-relays`. */
export function functionName(settings: Settings, handler: Handler): string {
  return `${settings.name}-${handler.replaceAll('_', '-')}`;
}

/** Placeholder of a state's function in its state machine's definition, without `${}`. */
export function functionPlaceholder(state: State | WaveState): string {
  return `${pascalCase(state)}FunctionArn`;
}

export function tableName(settings: Settings, table: TableName | typeof POOL_TABLE): string {
  return `${settings.name}-${table}`;
}

/** Parameter with what all functions read from their environment. */
export function environmentParameterName(settings: Settings): string {
  return `/${settings.name}/function-environment`;
}

export function controlBucketName(settings: Settings): string {
  return `${settings.name}-control-${Aws.ACCOUNT_ID}-${settings.homeRegion}`;
}

/** Topic of the letters that ask for approval. */
export function approvalTopicName(settings: Settings): string {
  return `${settings.name}-approvals`;
}

/** Topic of what happens to transfers. */
export function notificationTopicName(settings: Settings): string {
  return `${settings.name}-notifications`;
}

/** Topic of alarms, for those who run the deployment. */
export function alarmTopicName(settings: Settings): string {
  return `${settings.name}-alarms`;
}

/** Queue of what EC2 says about machines that end, anybody's of the account. */
export function machineEndsQueueName(settings: Settings): string {
  return `${settings.name}-machine-ends`;
}

export function stateMachineName(settings: Settings): string {
  return `${settings.name}-transfer`;
}

export function stateMachineArn(settings: Settings): string {
  return arn('states', settings.homeRegion, `stateMachine:${stateMachineName(settings)}`);
}

export function wavesMachineName(settings: Settings): string {
  return `${settings.name}-waves`;
}

export function wavesMachineArn(settings: Settings): string {
  return arn('states', settings.homeRegion, `stateMachine:${wavesMachineName(settings)}`);
}

/** Rule of `cpt.starts.objects`. */
export function objectStartRuleName(settings: Settings, start: string): string {
  return `${settings.name}-objects-${start}`;
}

/** Rule in another region than the home region that sends there what `cpt.starts.objects` is for. */
export function objectForwardingRuleName(settings: Settings, start: string): string {
  return `${settings.name}-forward-objects-${start}`;
}

/** Rule of a bucket whose objects may start transfers by what people add; as names are limited, without the bucket's own. */
export function addedStartsRuleName(settings: Settings, bucket: string): string {
  return `${settings.name}-added-${short(bucket)}`;
}

/** Rule in another region than the home region that sends its events there. */
export function addedForwardingRuleName(settings: Settings, bucket: string): string {
  return `${settings.name}-forward-added-${short(bucket)}`;
}

/** Key of the item with all starts by objects that people have added; `lambdas/adapters/dynamodb_added_starts.py` has it too. */
export const ADDED_STARTS = 'added-starts';

function short(bucket: string): string {
  return createHash('sha256').update(bucket).digest('hex').slice(0, 16);
}

/** Queue of the objects that are collected. */
export function arrivalsQueueName(settings: Settings): string {
  return `${settings.name}-arrivals`;
}

/** Group of the schedules that end windows; `lambdas/adapters/scheduler.py` has this and the role's name too. */
export function windowsGroupName(settings: Settings): string {
  return `${settings.name}-windows`;
}

/** Role of these schedules: IAM is global, so the region is part of its name. */
export function windowsRoleName(settings: Settings): string {
  return `${settings.name}-windows-${settings.homeRegion}`;
}

/** Schedule of `cpt.starts.schedules`. */
export function scheduleName(settings: Settings, start: string): string {
  return `${settings.name}-${start}`;
}

/** Group of the schedules that people add; `lambdas/adapters/start_schedules.py` has this and the role's name too. */
export function startsGroupName(settings: Settings): string {
  return `${settings.name}-starts`;
}

/** Role of these schedules: whoever may pass it may have transfers started. */
export function startsRoleName(settings: Settings): string {
  return `${settings.name}-starts-${settings.homeRegion}`;
}

/** Group of the schedules that a tenant adds; `lambdas/adapters/start_schedules.py` has this and the role's name too. */
export function tenantStartsGroupName(settings: Settings, tenant: string): string {
  return `${startsGroupName(settings)}-${tenant}`;
}

/** Role of these schedules: it reaches his alias of one function. */
export function tenantStartsRoleName(settings: Settings, tenant: string): string {
  return `${settings.name}-starts-${tenant}-${settings.homeRegion}`;
}

/** Managed policy for whoever is of a tenant, and his dashboard. */
export function tenantPolicyName(settings: Settings, tenant: string): string {
  return `${settings.name}-tenant-${tenant}`;
}

/** Name of the relay role and of its instance profile: IAM is global, so the region is part of it. */
export function relayRoleName(settings: Settings, region: string): string {
  return `${settings.name}-relay-${region}`;
}

/** Name of the role of a pool's nodes and of its instance profile. */
export function poolRoleName(settings: Settings, region: string): string {
  return `${settings.name}-pool-${region}`;
}

/** Launch template of a pool's nodes: as a relay's, with another role and other user data. */
export function poolTemplateName(settings: Settings, architecture: Architecture): string {
  return launchTemplateName(settings, architecture).replace(`${settings.name}-relay`, `${settings.name}-pool`);
}

/** Role whose sessions bucket's seats get, each narrowed to its bucket and prefix; `lambdas/operations/seats/credentials.py` has it too. */
export function bucketsRoleName(settings: Settings): string {
  return `${settings.name}-buckets`;
}

/** Beginning of the names below which a receiver keeps notes in a bucket; `lambdas/core/seats/credentials.py` has it too. */
export const PARTIAL_PREFIX = '.cpt-partial-';

/** Templates differ in their image alone: an image is of one architecture. */
export function launchTemplateName(settings: Settings, architecture: Architecture): string {
  return architecture === 'x86_64' ? `${settings.name}-relay` : `${settings.name}-relay-${architecture}`;
}

/** Of the pipeline that builds the relays' image, and of all its parts; Image Builder takes no underscore. */
export function imageName(settings: Settings, architecture: Architecture): string {
  return `${settings.name}-relay-${architecture.replace('_', '-')}`;
}

/**
 * Amazon's own key for disks. Where an account encrypts by default with a key of its own, our roles may not use that one, and a
 * launch that names none is accepted, and ended a second later.
 */
export const DISK_KEY = 'alias/aws/ebs';

/** Parameter with the latest image in each region; Image Builder's own role may write below this prefix only. */
export function imageParameter(settings: Settings, architecture: Architecture): string {
  return `/imagebuilder/${settings.name}/relay-${architecture}`;
}

/** Amazon's public parameters with its latest images. */
export const AMAZON_LINUX = '/aws/service/ami-amazon-linux-latest/';

/** Parameter that names the image of a launch: Amazon's full image, because the minimal one has no SSM agent, or our own. */
export function launchedImage(settings: Settings, architecture: Architecture): string {
  if (settings.relayImage === 'built') return imageParameter(settings, architecture);
  return `${AMAZON_LINUX}al2023-ami-kernel-default-${architecture}`;
}

export function documentName(settings: Settings, document: Document): string {
  return `${settings.name}-${document}`;
}

/**
 * Names of a service in every partition: condition keys have `s3.us-west-2.amazonaws.com`, `s3.cn-north-1.amazonaws.com.cn` and
 * `s3.eusc-de-east-1.amazonaws.eu`. Some of AWS's services keep the first suffix everywhere, so it is always one of them.
 */
export function serviceNames(prefix: string): string[] {
  return ['amazonaws.com', 'amazonaws.com.cn', 'amazonaws.eu'].map((suffix) => `${prefix}.${suffix}`);
}

/** Partition of a region: its ARNs begin with it, and nothing of one partition reaches another one. */
export function partitionOf(region: string): string {
  const found = [...PARTITIONS].find(([prefix]) => region.startsWith(prefix));
  return found === undefined ? 'aws' : found[1];
}

const PARTITIONS = new Map([
  ['us-gov-', 'aws-us-gov'],
  ['cn-', 'aws-cn'],
  ['eusc-', 'aws-eusc'],
]);

/** ARN of a resource of this account; `region` is empty for IAM. */
export function arn(service: string, region: string, resource: string): string {
  return `arn:${Aws.PARTITION}:${service}:${region}:${Aws.ACCOUNT_ID}:${resource}`;
}

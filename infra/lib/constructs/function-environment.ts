/** What the Lambdas read from their environment; `lambdas/runtime/env.py` is the other end of it. */

import { Settings } from '../config';
import { approvalTopicName, arn, controlBucketName, RegionDaemons, stateMachineArn, tableName } from '../names';

/**
 * One environment for every function: a function that reads one more key tomorrow needs no change here.
 * Lambda allows 4 KB in all; DAEMON_ASSETS takes about 65 bytes a region.
 */
export interface FunctionEnvironment extends Record<string, string> {
  /** Name of the deployment, also the value of the tag `cpt:deployment`. */
  readonly DEPLOYMENT_NAME: string;
  readonly HOME_REGION: string;
  /** JSON list of the enrolled regions. */
  readonly REGIONS: string;
  readonly TRANSFERS_TABLE: string;
  readonly CHUNKS_TABLE: string;
  readonly NODES_TABLE: string;
  readonly PROFILES_TABLE: string;
  readonly CONTROL_TOKENS_TABLE: string;
  readonly IDEMPOTENCY_TABLE: string;
  readonly CONTROL_BUCKET: string;
  readonly EVENT_BUS: string;
  /** Topic of the letters that ask for approval. */
  readonly APPROVAL_TOPIC_ARN: string;
  readonly STATE_MACHINE_ARN: string;
  /** JSON list of the instance types that may be launched, in order of preference. */
  readonly INSTANCE_TYPES: string;
  /** Whole number of relay pairs that one transfer may have at most. */
  readonly MAX_PAIRS: string;
  /** Dollars that one transfer may cost at most, or `none`. */
  readonly MAX_COST_USD: string;
  /** Seconds that each pair is measured. */
  readonly PRE_TEST_SECONDS: string;
  /** Seconds after which a relay that is not kept alive ends itself. */
  readonly RELAY_TIME_TO_LIVE_SECONDS: string;
  /** Seconds that items of chunks are kept: longer than the manifests that they point into. */
  readonly CHUNK_RETENTION_SECONDS: string;
  /** `internet` or `peering`. */
  readonly INTER_REGION_PATH: string;
  /** JSON `{region: [id]}`: subnets that were enrolled by id; the others carry the deployment’s tag. */
  readonly SUBNET_IDS: string;
  /** JSON `{"buckets": {region: name}, "files": {architecture: {"key", "sha256"}}}`: the daemons. */
  readonly DAEMON_ASSETS: string;
}

/** Daemons by region. */
export type Daemons = Readonly<Record<string, RegionDaemons>>;

/** The environment of every function of the deployment. */
export function functionEnvironment(settings: Settings, daemons: Daemons): FunctionEnvironment {
  return {
    DEPLOYMENT_NAME: settings.name,
    HOME_REGION: settings.homeRegion,
    REGIONS: JSON.stringify(settings.regions.map(({ region }) => region)),
    TRANSFERS_TABLE: tableName(settings, 'transfers'),
    CHUNKS_TABLE: tableName(settings, 'chunks'),
    NODES_TABLE: tableName(settings, 'nodes'),
    PROFILES_TABLE: tableName(settings, 'profiles'),
    CONTROL_TOKENS_TABLE: tableName(settings, 'control-tokens'),
    IDEMPOTENCY_TABLE: tableName(settings, 'idempotency'),
    CONTROL_BUCKET: controlBucketName(settings),
    EVENT_BUS: settings.name,
    APPROVAL_TOPIC_ARN: arn('sns', settings.homeRegion, approvalTopicName(settings)),
    STATE_MACHINE_ARN: stateMachineArn(settings),
    INSTANCE_TYPES: JSON.stringify(settings.instanceTypes),
    MAX_PAIRS: String(settings.maxPairs),
    MAX_COST_USD: String(settings.maxCostUsd ?? 'none'),
    PRE_TEST_SECONDS: String(settings.preTestSeconds),
    RELAY_TIME_TO_LIVE_SECONDS: String(60 * settings.relayTimeToLiveMinutes),
    CHUNK_RETENTION_SECONDS: String(86_400 * (settings.objectRetentionDays + 2)),
    INTER_REGION_PATH: settings.interRegionPath,
    SUBNET_IDS: JSON.stringify(enrolledSubnets(settings)),
    DAEMON_ASSETS: JSON.stringify(compact(daemons)),
  };
}

function enrolledSubnets({ regions }: Settings): Record<string, readonly string[]> {
  return Object.fromEntries(
    regions.flatMap(({ region, network }) => (network.kind === 'existing' ? [[region, network.subnetIds]] : [])),
  );
}

/** Keys and digests once, not once a region: ten regions of whole URIs for two architectures outgrow Lambda's 4 KB. */
function compact(daemons: Daemons): { buckets: Record<string, string>; files: Record<string, object> } {
  const buckets: Record<string, string> = {};
  const files: Record<string, object> = {};
  for (const [region, assets] of Object.entries(daemons)) {
    for (const [architecture, { bucket, key, sha256 }] of Object.entries(assets)) {
      buckets[region] = bucket;
      files[architecture] = { key, sha256 };
    }
  }
  return { buckets, files };
}

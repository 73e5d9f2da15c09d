/** What the Lambdas read from their environment; `lambdas/adapters/environment.py` is the other end of it. */

import contract from '../../contracts/function-environment.schema.json';
import { bucketWords, enrolledSubnets, Settings } from './config';
import { tenantWords } from './config-tenants';
import { approvalTopicName, arn, controlBucketName, RegionDaemons, stateMachineArn, tableName } from './names';

/** A value for each key of the contract. */
export type FunctionEnvironment = Readonly<Record<keyof typeof contract.properties, unknown>>;

/** Daemons by region. */
export type Daemons = Readonly<Record<string, RegionDaemons>>;

/** The environment of every function of the deployment. */
export function functionEnvironment(settings: Settings, daemons: Daemons): FunctionEnvironment {
  return {
    DEPLOYMENT_NAME: settings.name,
    HOME_REGION: settings.homeRegion,
    REGIONS: settings.regions.map(({ region }) => region),
    TRANSFERS_TABLE: tableName(settings, 'transfers'),
    CHUNKS_TABLE: tableName(settings, 'chunks'),
    NODES_TABLE: tableName(settings, 'nodes'),
    PROFILES_TABLE: tableName(settings, 'profiles'),
    CONTROL_TOKENS_TABLE: tableName(settings, 'control-tokens'),
    IDEMPOTENCY_TABLE: tableName(settings, 'idempotency'),
    ARRIVALS_TABLE: tableName(settings, 'arrivals'),
    CONTROL_BUCKET: controlBucketName(settings),
    EVENT_BUS: settings.name,
    APPROVAL_TOPIC_ARN: arn('sns', settings.homeRegion, approvalTopicName(settings)),
    STATE_MACHINE_ARN: stateMachineArn(settings),
    INSTANCE_TYPES: settings.instanceTypes,
    MAX_PAIRS: String(settings.maxPairs),
    MAX_COST_USD: String(settings.maxCostUsd ?? 'none'),
    VALUE_OF_TIME_USD_PER_HOUR: String(settings.valueOfTimeUsdPerHour),
    PRE_TEST_SECONDS: String(settings.preTestSeconds),
    RELAY_TIME_TO_LIVE_SECONDS: String(60 * settings.relayTimeToLiveMinutes),
    CHUNK_RETENTION_SECONDS: String(86_400 * (settings.objectRetentionDays + 2)),
    INTER_REGION_PATH: settings.interRegionPath,
    BUCKETS: bucketWords(settings),
    // Without a pool its table does not exist.
    POOL: settings.pool.length > 0 ? settings.pool : undefined,
    // Where there are none, functions have what they had before there were tenants.
    TENANTS: settings.tenants.length > 0 ? tenantWords(settings) : undefined,
    // One that may not is left out.
    READ_FILE_SYSTEMS: settings.readFileSystems ? 'true' : undefined,
    REQUIRE_CONSENT: String(settings.requireConsent),
    SUBNET_IDS: enrolledSubnets(settings),
    DAEMON_ASSETS: compact(daemons),
  };
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

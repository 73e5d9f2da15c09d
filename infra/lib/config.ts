/** The deployment's settings: what cdk.json (or `-c cpt=…`) says under `cpt`, checked and typed. */

import { ConfigurationError, DEFAULTS, Json, judge, KEYS } from './config-schema';
import { checkTemplates, objectStart, WrittenObjectStart } from './config-starts';
import { checkTenants, Tenant, tenantWords, TenantTerms } from './config-tenants';
import { Architecture, partitionOf } from './names';

export { ConfigurationError, DEFAULTS } from './config-schema';

/** A VPC that the region stack makes: public subnets only, two availability zones. */
export interface NewNetwork {
  readonly kind: 'new';
  /** IPv4 block; distinct per region, so that regions can be peered later. */
  readonly cidr: string;
}

/** A VPC that exists; nothing is looked up, so synth works offline. */
export interface ExistingNetwork {
  readonly kind: 'existing';
  readonly vpcId: string;
  /** As many as `subnetIds`, in the same order. */
  readonly availabilityZones: readonly string[];
  readonly subnetIds: readonly string[];
  /** IPv4 addresses that the VPC's DHCP options name; absent: the VPC's own resolver, which no group keeps away. */
  readonly nameServers?: readonly string[];
}

export interface RegionSettings {
  readonly region: string;
  readonly network: NewNetwork | ExistingNetwork;
}

/** Objects that are written under a prefix of a bucket start transfers. */
export interface ObjectStart {
  readonly name: string;
  readonly bucket: string;
  readonly prefix: string;
  readonly suffix?: string;
  /** Template of the request. One whose source is the bucket is collected for; else `{key}` in its texts becomes the object's key. */
  readonly request: Json;
  /** Where the bucket is. */
  readonly region: string;
  /** How long objects are collected for one transfer; absent: each object starts one of its own. */
  readonly windowSeconds?: number;
}

/** Keys of a bucket that transfers may touch, and how. */
export interface AllowedBucket {
  readonly bucket: string;
  /** Empty, or ends with a slash. */
  readonly prefix: string;
  readonly region: string;
  readonly read: boolean;
  /** Whoever writes there also sees and reads what is there. */
  readonly write: boolean;
  readonly delete: boolean;
  /** Transfers may have S3 restore what is archived there, which its owner pays for. */
  readonly restore: boolean;
  /** Whether people may add starts by objects that are written there; each write of one is an event of the deployment's. */
  readonly starts: boolean;
  readonly kmsKey?: string;
  /** Account that must own the bucket; absent: the deployment's. */
  readonly owner?: string;
}

/** A transfer that starts at set times. */
export interface ScheduleStart {
  readonly name: string;
  /** `cron(…)` or `rate(…)`, as EventBridge Scheduler takes it. */
  readonly expression: string;
  readonly timeZone: string;
  readonly request: Json;
}

/** What becomes of something when its stack is deleted. */
export type OnDestroy = 'retain' | 'delete';

/** What the pool keeps in one region. */
export interface PoolSettings {
  readonly region: string;
  readonly min: number;
  readonly max: number;
  readonly instanceType: string;
  readonly idleSeconds: number;
  readonly leasesPerNode: number;
}

/** Settings that are used as they are written; `settings.schema.json` says what each one means. */
interface Plain {
  readonly name: string;
  readonly homeRegion: string;
  readonly instanceTypes: readonly string[];
  readonly preTestSeconds: number;
  readonly interRegionPath: 'internet' | 'peering' | 'transit-gateway';
  readonly relayImage: 'stock' | 'building' | 'built';
  readonly maxPairs: number;
  readonly valueOfTimeUsdPerHour: number;
  readonly relayTimeToLiveMinutes: number;
  readonly objectRetentionDays: number;
  readonly dataOnDestroy: OnDestroy;
  readonly logsOnDestroy: OnDestroy;
  readonly approvalMail: readonly string[];
  readonly notificationMail: readonly string[];
  readonly alarmMail: readonly string[];
  readonly alarmUsdPerDay: number;
  readonly reservedConcurrency: number;
  readonly readFileSystems: boolean;
  readonly requireConsent: boolean;
  readonly tags: Readonly<Record<string, string>>;
}

export interface Settings extends Plain {
  readonly regions: readonly RegionSettings[];
  /** Processors that a daemon is built for. */
  readonly architectures: readonly Architecture[];
  readonly maxCostUsd: number | undefined;
  readonly buckets: readonly AllowedBucket[];
  /** Empty where no relay stands before anybody asks. */
  readonly pool: readonly PoolSettings[];
  readonly starts: { readonly objects: readonly ObjectStart[]; readonly schedules: readonly ScheduleStart[] };
  readonly tenants: readonly Tenant[];
  readonly permissionsBoundary: string | undefined;
}

type Entries<T> = Readonly<Record<string, T>>;

/** Settings as they are written. */
interface Written extends Plain {
  readonly regions: Entries<{ readonly cidr?: string } | Omit<ExistingNetwork, 'kind'>>;
  readonly maxCostUsd: number | null;
  readonly buckets: readonly (Pick<AllowedBucket, 'bucket' | 'region'> & Partial<AllowedBucket>)[];
  readonly starts: {
    readonly objects?: Entries<WrittenObjectStart>;
    readonly schedules?: Entries<Omit<ScheduleStart, 'name' | 'timeZone'> & { readonly timeZone?: string }>;
  };
  readonly tenants: Entries<TenantTerms>;
  readonly pool: Entries<Omit<PoolSettings, 'region' | 'idleSeconds' | 'leasesPerNode'> & Partial<PoolSettings>>;
  readonly permissionsBoundary: string | null;
}

/**
 * Settings from the whole context of the app.
 * @throws ConfigurationError also where a setting stands beside `cpt`, which nothing would read
 */
export function settingsOf(context: Json, architectures: readonly Architecture[]): Settings {
  // None of CDK's own keys is a plain word.
  const beside = KEYS.flatMap((key) => [key, `cpt.${key}`]).find((key) => context[key] !== undefined);
  if (beside !== undefined) {
    throw new ConfigurationError(beside, context[beside], 'settings stand under "cpt": -c cpt=\'{…}\', or cdk.json');
  }
  return readSettings(context.cpt, architectures);
}

/**
 * Settings from the context value `cpt`: an object from cdk.json, or JSON text from `-c cpt='{…}'`.
 * @param architectures those that a daemon is built for
 * @throws ConfigurationError
 */
export function readSettings(context: unknown, architectures: readonly Architecture[] = ['x86_64']): Settings {
  const written = withDefaults(parseText(context));
  judge(written);
  const { regions, buckets, pool, starts, tenants, maxCostUsd, permissionsBoundary, ...plain } = written as Written;
  const settings = {
    ...plain,
    regions: Object.entries(regions).map(([region, entry], index) => ({ region, network: networkOf(entry, index) })),
    architectures,
    maxCostUsd: maxCostUsd ?? undefined,
    buckets: buckets.map((entry) => ({ prefix: '', read: false, write: false, delete: false, restore: false, starts: false, ...entry })),
    pool: Object.entries(pool).map(([region, entry]) => ({ idleSeconds: 900, leasesPerNode: 4, ...entry, region })),
    starts: {
      objects: Object.entries(starts.objects ?? {}).map(([name, start]) => objectStart(name, start, plain.homeRegion)),
      schedules: Object.entries(starts.schedules ?? {}).map(([name, start]) => ({ name, timeZone: 'UTC', ...start })),
    },
    tenants: Object.entries(tenants).map(([name, terms]) => ({ name, ...terms })),
    permissionsBoundary: permissionsBoundary ?? undefined,
  };
  const checks = [checkNetworks, checkInstanceTypes, checkRelayImage, checkBuckets, checkTenants, checkRoom, checkPool, checkTemplates];
  for (const check of checks) check(settings);
  return settings;
}

function parseText(context: unknown): unknown {
  if (typeof context !== 'string') return context;
  try {
    return JSON.parse(context);
  } catch {
    throw new ConfigurationError(
      'cpt',
      context,
      'write JSON, e.g. -c cpt=\'{"homeRegion": "us-west-2", "regions": {"us-west-2": {}}}\'',
    );
  }
}

/** A key that is null or left out has its default. */
function withDefaults(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given;
  const set = Object.entries(given).filter(([, value]) => value !== null && value !== undefined);
  return { ...DEFAULTS, ...Object.fromEntries(set) };
}

function networkOf(entry: Written['regions'][string], index: number): NewNetwork | ExistingNetwork {
  if ('vpcId' in entry) return { kind: 'existing', ...entry };
  return { kind: 'new', cidr: entry.cidr ?? `10.${10 + index}.0.0/16` };
}

function checkNetworks({ homeRegion, regions, interRegionPath }: Settings): void {
  const blocks = regions.flatMap(({ network }) => (network.kind === 'new' ? [network.cidr] : []));
  const twice = blocks.find((cidr, index) => blocks.indexOf(cidr) !== index);
  if (twice !== undefined) {
    throw new ConfigurationError('cpt.regions.*.cidr', twice, 'give each region a block of its own, e.g. "10.42.0.0/16"');
  }
  const foreign = regions.find(({ region }) => partitionOf(region) !== partitionOf(homeRegion));
  if (foreign !== undefined) {
    throw new ConfigurationError(
      'cpt.regions',
      foreign.region,
      `it is of the partition ${partitionOf(foreign.region)}, and ${homeRegion} of ${partitionOf(homeRegion)}: ` +
        'no account and no network spans both',
    );
  }
  for (const { region, network } of regions) {
    if (network.kind === 'existing' && network.availabilityZones.length !== network.subnetIds.length) {
      throw new ConfigurationError(
        `cpt.regions.${region}.availabilityZones`,
        network.availabilityZones,
        `name the zone of each of the ${network.subnetIds.length} subnets, in their order`,
      );
    }
    if (network.kind === 'new' && interRegionPath !== 'internet') {
      throw new ConfigurationError(
        'cpt.interRegionPath',
        interRegionPath,
        `it needs VPCs that are joined already, and cpt.regions.${region} names none: ` +
          'give its vpcId, availabilityZones and subnetIds, or write "internet"',
      );
    }
  }
}

// An Arm family has a `g` after its generation (c7gn, t4g); g4dn has it before. a1 is the exception.
const ARM = /^([a-z]+\d+[a-z]*g[a-z]*|a1)\./;

function checkInstanceTypes({ instanceTypes, architectures }: Settings): void {
  const arm = instanceTypes.find((type) => ARM.test(type));
  if (arm !== undefined && !architectures.includes('arm64')) {
    throw new ConfigurationError(
      'cpt.instanceTypes',
      arm,
      'no daemon is built for arm64: run `make daemon-arm64` first, or use an x86-64 type, e.g. "c6in.large"',
    );
  }
}

function checkRelayImage({ relayImage, homeRegion, regions }: Settings): void {
  if (relayImage === 'stock' || regions.some(({ region }) => region === homeRegion)) return;
  throw new ConfigurationError(
    'cpt.relayImage',
    relayImage,
    `images are built in the home region's network: enrol ${homeRegion} in cpt.regions, or write "stock"`,
  );
}

// Lambda gives a function 4 KB of environment, of which ten regions with both daemons leave so many bytes for subnets, buckets, tenants and the pool.
function checkPool({ pool, regions, instanceTypes }: Settings): void {
  for (const { region, min, max, instanceType } of pool) {
    if (!regions.some((enrolled) => enrolled.region === region)) {
      throw new ConfigurationError('cpt.pool', region, `enrol it in cpt.regions, or leave it out of the pool`);
    }
    if (min > max) throw new ConfigurationError(`cpt.pool.${region}.min`, min, `write max, ${max}, or less`);
    if (!instanceTypes.includes(instanceType)) {
      throw new ConfigurationError(
        `cpt.pool.${region}.instanceType`,
        instanceType,
        `no other type may be launched than those of cpt.instanceTypes: write one of ${instanceTypes.join(', ')}, or add it there`,
      );
    }
  }
}

// Lambda gives a function 4 KB of environment, of which ten regions with both daemons leave so many bytes for subnets and buckets.
const ENVIRONMENT_ROOM = 2000;

function checkBuckets({ buckets, homeRegion, regions, name }: Settings): void {
  buckets.forEach((entry, index) => {
    const key = `cpt.buckets[${index}]`;
    const wrong = (inner: keyof AllowedBucket, remedy: string): ConfigurationError =>
      new ConfigurationError(`${key}.${inner}`, entry[inner], remedy);
    if (partitionOf(entry.region) !== partitionOf(homeRegion)) {
      throw wrong('region', `no session of ${homeRegion} reaches the partition ${partitionOf(entry.region)}`);
    }
    if (!entry.read && !entry.write) {
      throw wrong('read', entry.delete ? 'who deletes also writes: set "write"' : 'set "read" or "write", or leave the entry out');
    }
    if (entry.delete && !entry.write) throw wrong('delete', 'mirrors write, too: set "write", or leave "delete" out');
    if (entry.restore && !entry.read) throw wrong('restore', 'what is restored is read then: set "read", too, or leave "restore" out');
    if (entry.starts && !entry.read) throw wrong('starts', 'what comes is moved from there: set "read", too, or leave "starts" out');
    if (entry.starts && entry.bucket.startsWith(`${name}-control-`)) {
      throw wrong('starts', 'the control bucket holds no data; leave "starts" out');
    }
    // The control stack hears the home region itself.
    if (entry.starts && ![homeRegion, ...regions.map(({ region }) => region)].includes(entry.region)) {
      throw wrong('starts', `only enrolled regions tell of objects: enrol ${entry.region} in cpt.regions, or leave "starts" out`);
    }
    const keyRegion = entry.kmsKey?.split(':')[3];
    if (keyRegion !== undefined && keyRegion !== entry.region) throw wrong('kmsKey', `S3 takes a key of the bucket's region, ${entry.region}`);
    if (buckets.findIndex(({ bucket, prefix }) => bucket === entry.bucket && prefix === entry.prefix) < index) {
      throw wrong('bucket', 'it stands there twice with this prefix; write one entry');
    }
  });
}

/** The setting that is named is the one that makes it too much: buckets, unless these had room before there were tenants. */
function checkRoom(settings: Settings): void {
  const { buckets, tenants, pool } = settings;
  const parts: readonly (readonly [string, readonly unknown[], readonly string[], string])[] = [
    ['cpt.buckets', bucketWords(settings), buckets.map(({ bucket, prefix }) => bucket + '/' + prefix), 'name fewer, or shorter prefixes'],
    ['cpt.tenants', tenantWords(settings), tenants.map(({ name }) => name), 'name fewer, or set fewer of their terms'],
    ['cpt.pool', pool, pool.map(({ region }) => region), 'have a pool in fewer regions'],
  ];
  const words: unknown[] = [enrolledSubnets(settings)];
  for (const [key, told, given, remedy] of parts) {
    if (told.length > 0) words.push(told);
    const bytes = JSON.stringify(words).length;
    if (bytes > ENVIRONMENT_ROOM) {
      const room = `it takes ${bytes} bytes, and a function's environment has room for ${ENVIRONMENT_ROOM}`;
      throw new ConfigurationError(key, given, `with the subnets of cpt.regions and what is told beside them ${room}: ${remedy}`);
    }
  }
}

/** Ids of the subnets that were enrolled by id, by region, as functions have them. */
export function enrolledSubnets({ regions }: Pick<Settings, 'regions'>): Record<string, readonly string[]> {
  return Object.fromEntries(
    regions.flatMap(({ region, network }) => (network.kind === 'existing' ? [[region, network.subnetIds]] : [])),
  );
}

/**
 * The buckets as functions have them, e.g. `rw eu-west-1 my-data/backup/ key=123456789012/1234abcd owner=111122223333`;
 * `lambdas/core/ends/allowed_buckets.py` reads them. Partition and region of a key are those of the bucket; `key=#0` is the key of the first
 * entry, as there is little room.
 */
export function bucketWords({ buckets }: Pick<Settings, 'buckets'>): string[] {
  return buckets.map(({ bucket, prefix, region, kmsKey, owner, ...uses }, index) => {
    const letters = [uses.read && 'r', uses.write && 'w', uses.delete && 'd', uses.restore && 'a', uses.starts && 's'];
    const [, , , , account, key] = kmsKey?.split(':') ?? [];
    const first = buckets.findIndex((entry) => entry.kmsKey === kmsKey);
    const told = first < index ? `#${first}` : `${account}/${key?.replace('key/', '')}`;
    const more = [kmsKey !== undefined && `key=${told}`, owner !== undefined && `owner=${owner}`];
    return [letters.filter(Boolean).join(''), region, `${bucket}/${prefix}`, ...more.filter(Boolean)].join(' ');
  });
}

/** A bucket whose objects may start transfers by what people add, with all of its prefixes for which the settings say so. */
export interface BucketWithStarts {
  readonly bucket: string;
  readonly region: string;
  readonly prefixes: readonly string[];
}

export function bucketsWithStarts({ buckets }: Pick<Settings, 'buckets'>): BucketWithStarts[] {
  const found = new Map<string, BucketWithStarts>();
  for (const { bucket, region, prefix } of buckets.filter(({ starts }) => starts)) {
    const { prefixes } = found.get(bucket) ?? { prefixes: [] };
    found.set(bucket, { bucket, region, prefixes: [...prefixes, prefix] });
  }
  return [...found.values()];
}

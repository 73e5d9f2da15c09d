/** The deployment's settings: what cdk.json (or `-c cpt=…`) says under `cpt`, checked and typed. */

import { ConfigurationError, DEFAULTS, Json, judge, KEYS, quoted } from './config-schema';
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

/** Each object that is written under a prefix of a bucket starts a transfer. */
export interface ObjectStart {
  readonly name: string;
  readonly bucket: string;
  readonly prefix: string;
  /** Template of the request: `{key}` in its texts becomes the object's key. */
  readonly request: Json;
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
  readonly requireConsent: boolean;
  readonly tags: Readonly<Record<string, string>>;
}

export interface Settings extends Plain {
  readonly regions: readonly RegionSettings[];
  /** Processors that a daemon is built for. */
  readonly architectures: readonly Architecture[];
  readonly maxCostUsd: number | undefined;
  readonly starts: { readonly objects: readonly ObjectStart[]; readonly schedules: readonly ScheduleStart[] };
  readonly permissionsBoundary: string | undefined;
}

type Entries<T> = Readonly<Record<string, T>>;

/** Settings as they are written. */
interface Written extends Plain {
  readonly regions: Entries<{ readonly cidr?: string } | Omit<ExistingNetwork, 'kind'>>;
  readonly maxCostUsd: number | null;
  readonly starts: {
    readonly objects?: Entries<Omit<ObjectStart, 'name' | 'prefix'> & { readonly prefix?: string }>;
    readonly schedules?: Entries<Omit<ScheduleStart, 'name' | 'timeZone'> & { readonly timeZone?: string }>;
  };
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
  const { regions, starts, maxCostUsd, permissionsBoundary, ...plain } = written as Written;
  const settings = {
    ...plain,
    regions: Object.entries(regions).map(([region, entry], index) => ({ region, network: networkOf(entry, index) })),
    architectures,
    maxCostUsd: maxCostUsd ?? undefined,
    starts: {
      objects: Object.entries(starts.objects ?? {}).map(([name, start]) => ({ name, prefix: '', ...start })),
      schedules: Object.entries(starts.schedules ?? {}).map(([name, start]) => ({ name, timeZone: 'UTC', ...start })),
    },
    permissionsBoundary: permissionsBoundary ?? undefined,
  };
  for (const check of [checkNetworks, checkInstanceTypes, checkRelayImage, checkTemplates]) check(settings);
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

function checkTemplates({ starts, regions }: Settings): void {
  const enrolled = regions.map(({ region }) => region);
  for (const { name, request } of starts.objects) checkTemplate(`cpt.starts.objects.${name}.request`, request, enrolled);
  for (const { name, request } of starts.schedules) checkTemplate(`cpt.starts.schedules.${name}.request`, request, enrolled);
}

const NOT_IN_TEMPLATES = {
  name: 'leave it out: each start is named by itself',
  resume: 'leave it out: each start is a new transfer, there is none to go on with',
} as const;

function checkTemplate(key: string, request: Json, enrolled: readonly string[]): void {
  for (const [name, remedy] of Object.entries(NOT_IN_TEMPLATES)) {
    if (request[name] !== undefined) throw new ConfigurationError(`${key}.${name}`, request[name], remedy);
  }
  for (const end of ['source', 'destination']) {
    const { region } = request[end] as { region: string };
    if (!enrolled.includes(region)) {
      throw new ConfigurationError(`${key}.${end}.region`, region, `enrol it in cpt.regions, or write one of ${quoted(enrolled)}`);
    }
  }
  // Input transformers take what is between < and > for a variable.
  if (/[<>]/.test(JSON.stringify(request))) {
    throw new ConfigurationError(key, request, 'EventBridge takes no < or > in it; rename the path');
  }
}

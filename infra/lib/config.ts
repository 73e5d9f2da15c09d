/** The deployment's settings: what cdk.json (or `-c cpt=…`) says under `cpt`, checked and typed. */

import { readStarts, Starts } from './config-starts';
import { asObject, ConfigurationError, Json, matching, oneOf, refuseUnknown, textList, wholeNumber } from './config-values';
import { Architecture } from './names';

export { ConfigurationError } from './config-values';

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
}

export interface RegionSettings {
  readonly region: string;
  readonly network: NewNetwork | ExistingNetwork;
}

export interface Settings {
  /** Prefix of every physical name and value of the tag `cpt:deployment`. */
  readonly name: string;
  readonly homeRegion: string;
  readonly regions: readonly RegionSettings[];
  /** Processors that a daemon is built for. */
  readonly architectures: readonly Architecture[];
  /** What relays may be, in order of preference; other types are denied by IAM. */
  readonly instanceTypes: readonly string[];
  /** Seconds of each pre-test measurement. */
  readonly preTestSeconds: number;
  readonly interRegionPath: 'internet' | 'peering';
  /** What relays start from: Amazon's image (`building`: while a pipeline builds ours), or the latest that it built. */
  readonly relayImage: 'stock' | 'building' | 'built';
  readonly maxPairs: number;
  /** Minutes after which a relay that its sender no longer keeps alive ends itself. */
  readonly relayTimeToLiveMinutes: number;
  /** Days after which a transfer's listings, manifests and report expire. */
  readonly objectRetentionDays: number;
  /** Mail addresses that are asked for approval; each confirms its subscription once. */
  readonly approvalMail: readonly string[];
  /** Objects and times that start transfers. */
  readonly starts: Starts;
  /** Mail addresses that hear of every transfer: started, needs approval, degraded, finished or failed. */
  readonly notificationMail: readonly string[];
  /** Mail addresses that hear of alarms. */
  readonly alarmMail: readonly string[];
  /** Dollars that transfers may spend in a day before an alarm rings. */
  readonly alarmUsdPerDay: number;
}

const REGION = /^[a-z]{2}(-[a-z]+)+-[0-9]$/;
const CIDR = /^10\.(25[0-5]|2[0-4]\d|1?\d?\d)\.0\.0\/16$/;
// An Arm family has a `g` after its generation (c7gn, t4g); g4dn has it before. a1 is the exception.
const ARM = /^([a-z]+\d+[a-z]*g[a-z]*|a1)\./;
const MAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;
const INSTANCE_TYPE = /^[a-z0-9-]+\.[a-z0-9-]+$/;
// So many keep every policy and each function's environment within their limits; a test has them all.
const MAX_REGIONS = 10;
// One for each zone of the largest region; a function’s environment names them all.
const MAX_SUBNETS = 6;

const DEFAULTS = {
  name: 'cpt',
  instanceTypes: ['c6in.large', 'm6in.large', 't3.small'],
  preTestSeconds: 10,
  interRegionPath: 'internet',
  maxPairs: 16,
  relayTimeToLiveMinutes: 15,
  relayImage: 'stock',
  objectRetentionDays: 30,
  approvalMail: [],
  starts: {},
  notificationMail: [],
  alarmMail: [],
  alarmUsdPerDay: 100,
} as const;

/**
 * Settings from the context value `cpt`: an object from cdk.json, or JSON text from `-c cpt='{…}'`.
 * @param architectures those that a daemon is built for
 * @throws ConfigurationError
 */
export function readSettings(context: unknown, architectures: readonly Architecture[] = ['x86_64']): Settings {
  const raw = asObject('cpt', parseText(context));
  refuseUnknown('cpt', raw, [...Object.keys(DEFAULTS), 'homeRegion', 'regions']);
  const value = (key: string): unknown => raw[key] ?? (DEFAULTS as Json)[key];
  const homeRegion = regionName('cpt.homeRegion', raw.homeRegion);
  const interRegionPath = oneOf('cpt.interRegionPath', value('interRegionPath'), ['internet', 'peering'] as const);
  const regions = readRegions(raw.regions, interRegionPath);
  return {
    name: matching(
      'cpt.name',
      value('name'),
      /^[a-z][a-z0-9-]{0,19}$/,
      'write up to 20 lower-case letters, digits and dashes, e.g. "cpt"',
    ),
    homeRegion,
    regions,
    architectures,
    instanceTypes: readInstanceTypes(value('instanceTypes'), architectures),
    preTestSeconds: wholeNumber('cpt.preTestSeconds', value('preTestSeconds'), 1, 300),
    interRegionPath,
    relayImage: readRelayImage(value('relayImage'), homeRegion, regions),
    maxPairs: wholeNumber('cpt.maxPairs', value('maxPairs'), 0, 64),
    // Relays have five minutes to join; one that boots slowly must not end meanwhile.
    relayTimeToLiveMinutes: wholeNumber('cpt.relayTimeToLiveMinutes', value('relayTimeToLiveMinutes'), 10, 1_440),
    objectRetentionDays: wholeNumber('cpt.objectRetentionDays', value('objectRetentionDays'), 1, 3_650),
    starts: readStarts(value('starts')),
    approvalMail: readMail('cpt.approvalMail', value('approvalMail')),
    notificationMail: readMail('cpt.notificationMail', value('notificationMail')),
    alarmMail: readMail('cpt.alarmMail', value('alarmMail')),
    alarmUsdPerDay: wholeNumber('cpt.alarmUsdPerDay', value('alarmUsdPerDay'), 1, 1_000_000),
  };
}

function readRegions(value: unknown, interRegionPath: Settings['interRegionPath']): RegionSettings[] {
  const entries = Object.entries(asObject('cpt.regions', value));
  if (entries.length === 0 || entries.length > MAX_REGIONS) {
    throw new ConfigurationError(
      'cpt.regions',
      value,
      `name 1 to ${MAX_REGIONS} regions, e.g. {"us-west-2": {}, "eu-west-1": {}}`,
    );
  }
  const regions = entries.map(([region, entry], index) => readRegion(region, entry, index));
  const blocks = regions.flatMap(({ network }) => (network.kind === 'new' ? [network.cidr] : []));
  const twice = blocks.find((cidr, index) => blocks.indexOf(cidr) !== index);
  if (twice !== undefined) {
    throw new ConfigurationError(
      'cpt.regions.*.cidr',
      twice,
      'give each region a block of its own, e.g. "10.42.0.0/16"',
    );
  }
  const unpeered = regions.find(({ network }) => network.kind === 'new');
  if (interRegionPath === 'peering' && unpeered !== undefined) {
    throw new ConfigurationError(
      'cpt.interRegionPath',
      interRegionPath,
      `it needs peered VPCs, and cpt.regions.${unpeered.region} names none: ` +
        'give its vpcId, availabilityZones and subnetIds, or write "internet"',
    );
  }
  return regions;
}

function readRegion(region: string, value: unknown, index: number): RegionSettings {
  const key = `cpt.regions.${region}`;
  regionName(`cpt.regions`, region);
  const raw = asObject(key, value);
  if (raw.vpcId === undefined) {
    refuseUnknown(key, raw, ['cidr'], 'a region without vpcId gets a new VPC and takes only "cidr"');
    const cidr = matching(
      `${key}.cidr`,
      raw.cidr ?? `10.${10 + index}.0.0/16`,
      CIDR,
      'write a block of the form "10.N.0.0/16"',
    );
    return { region, network: { kind: 'new', cidr } };
  }
  refuseUnknown(key, raw, ['vpcId', 'availabilityZones', 'subnetIds']);
  const subnetIds = textList(
    `${key}.subnetIds`,
    raw.subnetIds,
    /^subnet-[0-9a-f]{8,17}$/,
    '["subnet-0123456789abcdef0"]',
  );
  const availabilityZones = textList(
    `${key}.availabilityZones`,
    raw.availabilityZones,
    /^[a-z]{2}(-[a-z]+)+-[0-9][a-z]$/,
    `["${region}a"]`,
  );
  if (subnetIds.length > MAX_SUBNETS) {
    throw new ConfigurationError(`${key}.subnetIds`, subnetIds, `name ${MAX_SUBNETS} subnets at most`);
  }
  if (availabilityZones.length !== subnetIds.length) {
    throw new ConfigurationError(
      `${key}.availabilityZones`,
      availabilityZones,
      `name the zone of each of the ${subnetIds.length} subnets, in their order`,
    );
  }
  const vpcId = matching(
    `${key}.vpcId`,
    raw.vpcId,
    /^vpc-[0-9a-f]{8,17}$/,
    'write the id of a VPC, e.g. "vpc-0123456789abcdef0"',
  );
  return { region, network: { kind: 'existing', vpcId, availabilityZones, subnetIds } };
}

function readInstanceTypes(value: unknown, architectures: readonly Architecture[]): string[] {
  const types = textList('cpt.instanceTypes', value, INSTANCE_TYPE, '["c6in.large"]');
  const arm = types.find((type) => ARM.test(type));
  if (arm !== undefined && !architectures.includes('arm64')) {
    throw new ConfigurationError(
      'cpt.instanceTypes',
      arm,
      'no daemon is built for arm64: run `make daemon-arm64` first, or use an x86-64 type, e.g. "c6in.large"',
    );
  }
  return types;
}

function readRelayImage(value: unknown, homeRegion: string, regions: readonly RegionSettings[]): Settings['relayImage'] {
  const image = oneOf('cpt.relayImage', value, ['stock', 'building', 'built'] as const);
  if (image !== 'stock' && !regions.some(({ region }) => region === homeRegion)) {
    throw new ConfigurationError(
      'cpt.relayImage',
      image,
      `images are built in the home region's network: enrol ${homeRegion} in cpt.regions, or write "stock"`,
    );
  }
  return image;
}

function readMail(key: string, value: unknown): string[] {
  if (Array.isArray(value) && value.length === 0) return [];
  return textList(key, value, MAIL, '["operations@example.com"], or [] for none');
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

function regionName(key: string, value: unknown): string {
  return matching(key, value, REGION, 'write the name of an AWS region, e.g. "us-west-2"');
}

/** The deployment's settings: what cdk.json (or `-c cpt=…`) says under `cpt`, checked and typed. */

import { readRegions, regionName, RegionSettings } from './config-regions';
import { readStarts, Starts } from './config-starts';
import { asObject, ConfigurationError, Json, matching, oneOf, positive, refuseUnknown, textList, wholeNumber } from './config-values';
import { Architecture } from './names';

export { RegionSettings } from './config-regions';
export { ConfigurationError } from './config-values';

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
  /** Dollars that one transfer may cost at most; undefined: what its own request says. */
  readonly maxCostUsd: number | undefined;
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
  /** Tags of the owner's, on everything that is made and on every relay. */
  readonly tags: Readonly<Record<string, string>>;
  /** ARN of the managed policy that bounds every role; undefined: none does. */
  readonly permissionsBoundary: string | undefined;
}

// An Arm family has a `g` after its generation (c7gn, t4g); g4dn has it before. a1 is the exception.
const ARM = /^([a-z]+\d+[a-z]*g[a-z]*|a1)\./;
const MAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;
const INSTANCE_TYPE = /^[a-z0-9-]+\.[a-z0-9-]+$/;

const POLICY_ARN = /^arn:aws[a-z-]*:iam::(\d{12}|aws):policy\/[\w+=,.@/-]+$/;
// CloudFormation takes 50 a resource; some are ours.
const MAX_TAGS = 40;
// What each service takes, as far as all of them agree.
const TAG_KEY = /^(?!aws:|cpt:|Name$)[A-Za-z0-9 _.:/=+@-]{1,128}$/i;
const TAG_VALUE = /^[A-Za-z0-9 _.:/=+@-]{0,256}$/;

/** Every key but `homeRegion` and `regions`, which have no default. */
export const DEFAULTS = {
  name: 'cpt',
  instanceTypes: ['c6in.large', 'm6in.large', 't3.small'],
  preTestSeconds: 10,
  interRegionPath: 'internet',
  maxPairs: 16,
  maxCostUsd: null,
  relayTimeToLiveMinutes: 15,
  relayImage: 'stock',
  objectRetentionDays: 30,
  approvalMail: [],
  starts: {},
  notificationMail: [],
  alarmMail: [],
  alarmUsdPerDay: 100,
  tags: {},
  permissionsBoundary: null,
} as const;

const KEYS = [...Object.keys(DEFAULTS), 'homeRegion', 'regions'];

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
  const raw = asObject('cpt', parseText(context));
  refuseUnknown('cpt', raw, KEYS);
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
    preTestSeconds: wholeNumber('cpt.preTestSeconds', value('preTestSeconds'), 1, 60),
    interRegionPath,
    relayImage: readRelayImage(value('relayImage'), homeRegion, regions),
    maxPairs: wholeNumber('cpt.maxPairs', value('maxPairs'), 0, 64),
    maxCostUsd: readMaxCost(value('maxCostUsd')),
    // Relays have five minutes to join; one that boots slowly must not end meanwhile.
    relayTimeToLiveMinutes: wholeNumber('cpt.relayTimeToLiveMinutes', value('relayTimeToLiveMinutes'), 10, 1_440),
    objectRetentionDays: wholeNumber('cpt.objectRetentionDays', value('objectRetentionDays'), 16, 3_650),
    starts: readStarts(
      value('starts'),
      regions.map(({ region }) => region),
    ),
    approvalMail: readMail('cpt.approvalMail', value('approvalMail')),
    notificationMail: readMail('cpt.notificationMail', value('notificationMail')),
    alarmMail: readMail('cpt.alarmMail', value('alarmMail')),
    alarmUsdPerDay: wholeNumber('cpt.alarmUsdPerDay', value('alarmUsdPerDay'), 1, 1_000_000),
    tags: readTags(value('tags')),
    permissionsBoundary: readPermissionsBoundary(value('permissionsBoundary')),
  };
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

function readMaxCost(value: unknown): number | undefined {
  return value === null ? undefined : positive('cpt.maxCostUsd', value, 1_000_000);
}

function readTags(value: unknown): Settings['tags'] {
  const entries = Object.entries(asObject('cpt.tags', value));
  if (entries.length > MAX_TAGS) throw new ConfigurationError('cpt.tags', value, `write at most ${MAX_TAGS} tags`);
  return Object.fromEntries(
    entries.map(([key, text]) => [
      matching('cpt.tags', key, TAG_KEY, 'a tag has up to 128 letters, digits, spaces and _.:/=+@-; not Name, aws:… or cpt:…'),
      matching(`cpt.tags.${key}`, text, TAG_VALUE, 'write up to 256 letters, digits, spaces and _.:/=+@-, e.g. "research"'),
    ]),
  );
}

function readPermissionsBoundary(value: unknown): string | undefined {
  if (value === null) return undefined;
  const example = 'arn:aws:iam::123456789012:policy/boundary';
  return matching('cpt.permissionsBoundary', value, POLICY_ARN, `write the ARN of a managed policy, e.g. "${example}"`);
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

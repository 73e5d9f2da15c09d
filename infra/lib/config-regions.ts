/** Enrolled regions and their networks: `cpt.regions` of the context, checked and typed. */

import { asObject, ConfigurationError, matching, refuseUnknown, textList } from './config-values';

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

const REGION = /^[a-z]{2}(-[a-z]+)+-[0-9]$/;
const CIDR = /^10\.(25[0-5]|2[0-4]\d|1?\d?\d)\.0\.0\/16$/;
// So many keep every policy and each function's environment within their limits; a test has them all.
const MAX_REGIONS = 10;
// One for each zone of the largest region; a function’s environment names them all.
const MAX_SUBNETS = 6;

/** @throws ConfigurationError */
export function readRegions(value: unknown, interRegionPath: 'internet' | 'peering'): RegionSettings[] {
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

export function regionName(key: string, value: unknown): string {
  return matching(key, value, REGION, 'write the name of an AWS region, e.g. "us-west-2"');
}

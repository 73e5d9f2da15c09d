import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSettings } from '../../infra/lib/config';
import { ROOT, synthesize } from './synthesis';

const PARTITIONS: [string, string[]][] = [
  ['aws', ['us-west-2', 'eu-west-1']],
  ['aws-us-gov', ['us-gov-west-1', 'us-gov-east-1']],
  ['aws-cn', ['cn-north-1', 'cn-northwest-1']],
  ['aws-eusc', ['eusc-de-east-1']],
];
const SUFFIXES = ['amazonaws.com', 'amazonaws.com.cn', 'amazonaws.eu'];

/** Strings of a document, each with the keys that lead to it. */
function* strings(value: unknown, keys: string[] = []): Generator<[string[], string]> {
  if (typeof value === 'string') yield [keys, value];
  else if (typeof value === 'object' && value !== null)
    for (const [key, one] of Object.entries(value)) yield* strings(one, [...keys, key]);
}

/** Whether a text may have a suffix: names of AWS's services, which trust policies and the paths of its roles keep. */
function isServiceName(keys: string[], found: string): boolean {
  const key = keys.filter((name) => !/^\d+$/.test(name)).at(-1) ?? '';
  return key === 'Service' || key === 'Principal' || found.includes(':role/aws-service-role/');
}

describe.each(PARTITIONS)('%s', (partition, regions) => {
  const { control, region } = synthesize({
    homeRegion: regions[0],
    regions: Object.fromEntries(regions.map((name) => [name, {}])),
    relayImage: 'building',
  });
  const templates = [control, ...regions.map(region)];
  const all = templates.flatMap((template) => [...strings(template.toJSON())]);

  it('no ARN is of another partition', () => {
    const named = all.flatMap(([, found]) => found.match(/\barn:aws[a-z-]*:/g) ?? []);
    expect(named.filter((found) => found !== `arn:${partition}:` || partition === 'aws')).toEqual([]);
  });

  it('the suffix of names is that of no partition, or that of each', () => {
    const lists = templates.flatMap((template) => [...suffixed(template.toJSON())]);
    const single = all.filter(([keys, found]) => /amazonaws\.[a-z]/.test(found) && !isServiceName(keys, found));
    const listed = new Set(lists.flat());
    expect(single.map(([, found]) => found).filter((found) => !listed.has(found))).toEqual([]);
  });
});

/** Lists that name the same service under each suffix. */
function* suffixed(value: unknown): Generator<string[]> {
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) {
    const names = value;
    const stem = (names[0] ?? '').replace(/\.amazonaws\..*$/, '');
    if (SUFFIXES.every((suffix) => names.includes(`${stem}.${suffix}`))) yield names;
  } else if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) yield* suffixed(one);
}

const RELAY = 'relay-ami/relay';
/** Folders of the daemon's crates; `fuzz` is for tests alone. */
const CRATES = readdirSync(path.join(ROOT, RELAY)).filter(
  (name) => name === 'src' || (name !== 'fuzz' && existsSync(path.join(ROOT, RELAY, name, 'Cargo.toml'))),
);
const SOURCES = ['infra', 'statemachine', 'lambdas', 'cli', 'relay-ami/image', ...CRATES.map((crate) => `${RELAY}/${crate}`)];

function* files(folder: string): Generator<string> {
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name);
    if (statSync(file).isDirectory()) yield* files(file);
    else if (/\.(py|ts|rs|sh|json|toml|service)$/.test(name) && !name.endsWith('_tests.rs')) yield file;
  }
}

describe('sources', () => {
  const lines = SOURCES.flatMap((folder) => [...files(path.join(ROOT, folder))]).flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => ({ file: path.relative(ROOT, file), line: line.trim() })),
  );

  it('name no partition in an ARN', () => {
    const found = lines.filter(({ line }) => /\barn:aws:/.test(line) && !line.includes('"remedy"'));
    expect(found).toEqual([]);
  });

  it('name no host of AWS', () => {
    // Services keep their names as principals; the two that follow are words for people and the list of suffixes.
    const known = [/ServicePrincipal\('[a-z0-9]+\.amazonaws\.com'/, /aws-service-role\/spot\./, /--aws-service-name/, /^(\*|return \['amazonaws)/];
    const found = lines.filter(({ line }) => line.includes('amazonaws.') && !known.some((pattern) => pattern.test(line)));
    expect(found).toEqual([]);
  });

  it('take the regions of all partitions', () => {
    const pattern = /\^\[a-z\][^"' ]*-\[0-9\]/g;
    const contracts = readdirSync(path.join(ROOT, 'contracts')).filter((name) => name.endsWith('.json'));
    const patterns = [
      ...lines.map(({ line }) => line),
      ...contracts.flatMap((name) => readFileSync(path.join(ROOT, 'contracts', name), 'utf8').split('\n')),
    ].flatMap((line) => line.match(pattern) ?? []);
    expect(patterns.length).toBeGreaterThan(10);
    for (const [, regions] of PARTITIONS)
      for (const region of regions) expect(patterns.filter((one) => !new RegExp(`${one}$`).test(region))).toEqual([]);
  });

  it.each(PARTITIONS)('settings take %s', (_, regions) => {
    const written = { homeRegion: regions[0], regions: Object.fromEntries(regions.map((name) => [name, {}])) };
    expect(readSettings(written).regions.map(({ region }) => region)).toEqual(regions);
  });
});

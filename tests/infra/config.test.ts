import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigurationError, DEFAULTS, readSettings, settingsOf } from '../../infra/lib/config';
import { tenantWords } from '../../infra/lib/config-tenants';
import schema from '../../infra/lib/settings.schema.json';
import { ROOT, shippedContext, TWO_REGIONS } from './synthesis';

const EXISTING = {
  vpcId: 'vpc-0123456789abcdef0',
  availabilityZones: ['us-west-2a'],
  subnetIds: ['subnet-0123456789abcdef0'],
};

const tags = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`tag-${index}`, 'x']));
const ENDS = {
  source: { instanceId: 'i-0aaaaaaaaaaaaaaa1', region: 'us-west-2', paths: ['/mnt/exports/{key}'] },
  destination: { instanceId: 'i-0bbbbbbbbbbbbbbb2', region: 'eu-west-1', path: '/restore' },
};
const tenants = (count: number, terms: object = {}): Record<string, object> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, terms]));
const TERMS = { weight: 0.3333333333333, guaranteeMBps: 33.33333333333, limitMBps: 66.66666666666 };
const MY_DATA = { bucket: 'my-data', prefix: 'backup/', region: 'eu-west-1', read: true };
const KEY = 'arn:aws:kms:us-west-2:123456789012:key/1234abcd';
const ELEVEN = Array.from({ length: 11 }, (_, index) => ({ ...MY_DATA, prefix: `p${index}/` }));
/** Settings whose only bucket is changed. */
const bucket = (change: object): Record<string, unknown> => ({ buckets: [{ ...MY_DATA, ...change }] });
/** Settings whose only start has this template. */
const asked = (change: object): Record<string, unknown> => ({
  starts: { objects: { a: { bucket: 'exports', request: { ...ENDS, ...change } } } },
});

describe('settings', () => {
  it('are those of cdk.json where a user changes nothing', () => {
    const settings = readSettings(shippedContext().cpt);
    expect(settings).toMatchObject({ name: 'cpt', homeRegion: 'us-west-2', interRegionPath: 'internet', maxPairs: 16 });
    expect(settings.regions.map(({ region }) => region)).toEqual(['us-west-2', 'eu-west-1']);
  });

  it('need only a home region and regions', () => {
    expect(readSettings(TWO_REGIONS)).toEqual(readSettings(shippedContext().cpt));
  });

  it('may come as JSON text from the command line', () => {
    expect(readSettings(JSON.stringify(TWO_REGIONS))).toEqual(readSettings(TWO_REGIONS));
  });

  it('give each region an address block of its own', () => {
    const { regions } = readSettings({
      ...TWO_REGIONS,
      regions: { 'us-west-2': {}, 'eu-west-1': {}, 'ap-south-1': { cidr: '10.99.0.0/16' } },
    });
    expect(regions.map(({ network }) => network.kind === 'new' && network.cidr)).toEqual([
      '10.10.0.0/16',
      '10.11.0.0/16',
      '10.99.0.0/16',
    ]);
  });

  it('are read from the context beside the keys of CDK', () => {
    expect(settingsOf(shippedContext(), ['x86_64'])).toEqual(readSettings(shippedContext().cpt));
  });

  it('take templates of requests as they are written', () => {
    const request = { ...ENDS, relays: { pairs: { source: 2, destination: 1 } }, preTest: false, chunkSizeMiB: 8 };
    const schedules = { a: { expression: 'cron(30 2 * * ? *)', request } };
    const { starts } = readSettings({ ...TWO_REGIONS, starts: { objects: { a: { bucket: 'exports', request } }, schedules } });
    expect(starts.objects[0]?.request).toEqual(request);
    expect(starts.schedules[0]?.request).toEqual(request);
  });

  it('take tenants, each with what is set for it', () => {
    const { tenants } = readSettings({ ...TWO_REGIONS, tenants: { acme: { weight: 2, activeTransfers: 4, usdPerMonth: 0.5 }, beta: {} } });
    expect(tenants).toEqual([{ name: 'acme', weight: 2, activeTransfers: 4, usdPerMonth: 0.5 }, { name: 'beta' }]);
    expect(tenantWords({ tenants })).toEqual(['acme w=2 t=4 d=0.5', 'beta']);
  });

  it('take buckets, of which no right is given that is not written', () => {
    const { buckets } = readSettings({ ...TWO_REGIONS, buckets: [MY_DATA, { bucket: 'archive', region: 'us-west-2', write: true }] });
    expect(buckets).toEqual([
      { ...MY_DATA, write: false, delete: false, restore: false, starts: false },
      { bucket: 'archive', prefix: '', region: 'us-west-2', read: false, write: true, delete: false, restore: false, starts: false },
    ]);
  });

  it('take an existing VPC', () => {
    const { regions } = readSettings({
      ...TWO_REGIONS,
      interRegionPath: 'peering',
      regions: { 'us-west-2': EXISTING },
    });
    expect(regions[0]?.network).toEqual({ kind: 'existing', ...EXISTING });
  });
});

describe('a bad setting is refused by key, value and remedy', () => {
  const cases: [string, Record<string, unknown>, string, string][] = [
    ['no home region', { homeRegion: undefined }, 'cpt.homeRegion', 'missing'],
    ['a home region that is none', { homeRegion: 'oregon' }, 'cpt.homeRegion', '"oregon"'],
    ['a region that is none', { regions: { 'us-wst': {} } }, 'cpt.regions', '"us-wst"'],
    ['a region of another partition', { regions: { 'us-west-2': {}, 'cn-north-1': {} } }, 'cpt.regions', '"cn-north-1"'],
    ['no region', { regions: {} }, 'cpt.regions', '{}'],
    ['regions as a list', { regions: ['us-west-2'] }, 'cpt.regions', '["us-west-2"]'],
    ['a mail address that is none', { approvalMail: ['me'] }, 'cpt.approvalMail', '"me"'],
    ['an alarm without a limit', { alarmUsdPerDay: 0 }, 'cpt.alarmUsdPerDay', '0'],
    ['an unknown key', { pairs: 3 }, 'cpt.pairs', '3'],
    ['an unknown key of a region', { regions: { 'us-west-2': { vpc: 'x' } } }, 'cpt.regions.us-west-2.vpc', '"x"'],
    [
      'a VPC without subnets',
      { regions: { 'us-west-2': { vpcId: EXISTING.vpcId } } },
      'cpt.regions.us-west-2.subnetIds',
      'missing',
    ],
    [
      'fewer zones than subnets',
      { regions: { 'us-west-2': { ...EXISTING, subnetIds: [...EXISTING.subnetIds, 'subnet-0123456789abcdef1'] } } },
      'cpt.regions.us-west-2.availabilityZones',
      '["us-west-2a"]',
    ],
    [
      'a name server that is none',
      { regions: { 'us-west-2': { ...EXISTING, nameServers: ['10.0.0.256'] } } },
      'cpt.regions.us-west-2.nameServers',
      '"10.0.0.256"',
    ],
    [
      'a block twice',
      { regions: { 'us-west-2': { cidr: '10.11.0.0/16' }, 'eu-west-1': {} } },
      'cpt.regions.*.cidr',
      '"10.11.0.0/16"',
    ],
    [
      'a block of another size',
      { regions: { 'us-west-2': { cidr: '10.11.0.0/24' } } },
      'cpt.regions.us-west-2.cidr',
      '"10.11.0.0/24"',
    ],
    ['peering of VPCs that nobody peered', { interRegionPath: 'peering' }, 'cpt.interRegionPath', '"peering"'],
    ['a gateway between VPCs that nobody joined', { interRegionPath: 'transit-gateway' }, 'cpt.interRegionPath', '"transit-gateway"'],
    ['an unknown path', { interRegionPath: 'vpn' }, 'cpt.interRegionPath', '"vpn"'],
    ['an Arm type', { instanceTypes: ['c6in.large', 'c7gn.large'] }, 'cpt.instanceTypes', '"c7gn.large"'],
    ['a type that is none', { instanceTypes: ['large'] }, 'cpt.instanceTypes', '"large"'],
    ['no type', { instanceTypes: [] }, 'cpt.instanceTypes', '[]'],
    ['too many pairs', { maxPairs: 65 }, 'cpt.maxPairs', '65'],
    ['half a second', { preTestSeconds: 0.5 }, 'cpt.preTestSeconds', '0.5'],
    ['a measurement that no request may ask for', { preTestSeconds: 61 }, 'cpt.preTestSeconds', '61'],
    ['a number as text', { preTestSeconds: '10' }, 'cpt.preTestSeconds', '"10"'],
    ['a name with capitals', { name: 'CPT' }, 'cpt.name', '"CPT"'],
    ['a start of an unknown kind', { starts: { mails: {} } }, 'cpt.starts.mails', '{}'],
    ['a schedule without a request', { starts: { schedules: { a: { expression: 'rate(1 day)' } } } }, 'cpt.starts.schedules.a.request', 'missing'],
    [
      'a schedule that is none',
      { starts: { schedules: { a: { expression: '30 2 * * *', request: ENDS } } } },
      'cpt.starts.schedules.a.expression',
      '"30 2 * * *"',
    ],
    [
      'a cron expression of five fields',
      { starts: { schedules: { a: { expression: 'cron(30 2 * * ?)', request: ENDS } } } },
      'cpt.starts.schedules.a.expression',
      '"cron(30 2 * * ?)"',
    ],
    [
      'a time zone that is none',
      { starts: { schedules: { a: { expression: 'rate(1 day)', timeZone: 'Mars/Olympus', request: ENDS } } } },
      'cpt.starts.schedules.a.timeZone',
      '"Mars/Olympus"',
    ],
    ['a tenant with a hyphen', { tenants: { 'big-co': {} } }, 'cpt.tenants', '"big-co"'],
    ['a tenant that is called like whoever is of none', { tenants: { operator: {} } }, 'cpt.tenants', '"operator"'],
    ['a tenant that begins with a digit', { tenants: { '1st': {} } }, 'cpt.tenants', '"1st"'],
    ['a term that no tenant has', { tenants: { acme: { pairs: 2 } } }, 'cpt.tenants.acme.pairs', '2'],
    ['half a transfer', { tenants: { acme: { activeTransfers: 1.5 } } }, 'cpt.tenants.acme.activeTransfers', '1.5'],
    ['no dollars', { tenants: { acme: { usdPerMonth: 0 } } }, 'cpt.tenants.acme.usdPerMonth', '0'],
    ['a start that is called like a tenant’s transfers', { tenants: { a: {} }, starts: { schedules: { 'a-b': { expression: 'rate(1 hour)', request: ENDS } } } }, 'cpt.starts.schedules.a-b', '"a-b"'],
    ['a guarantee above the limit', { tenants: { acme: { guaranteeMBps: 50, limitMBps: 40 } } }, 'cpt.tenants.acme.guaranteeMBps', '50'],
    ['more tenants than a stack has room for', { tenants: tenants(36) }, 'cpt.tenants', JSON.stringify(tenants(36))],
    ['more terms than functions have room for', { tenants: tenants(35, TERMS) }, 'cpt.tenants', JSON.stringify(Object.keys(tenants(35)))],
    [
      'a pool beside more terms than functions have room for',
      { tenants: tenants(31, TERMS), pool: Object.fromEntries(['us-west-2', 'eu-west-1'].map((region) => [region, { min: 1, max: 1, instanceType: 'c6in.large' }])) },
      'cpt.pool',
      '["us-west-2","eu-west-1"]',
    ],
    ['a bucket without its region', { buckets: [{ bucket: 'my-data' }] }, 'cpt.buckets[0].region', 'missing'],
    ['a bucket by its ARN', bucket({ bucket: 'arn:aws:s3:::my-data' }), 'cpt.buckets[0].bucket', '"arn:aws:s3:::my-data"'],
    ['a directory bucket', bucket({ bucket: 'my-data--usw2-az1--x-s3' }), 'cpt.buckets[0].bucket', '"my-data--usw2-az1--x-s3"'],
    ['a prefix without a slash', bucket({ prefix: 'backup' }), 'cpt.buckets[0].prefix', '"backup"'],
    ['a prefix that a policy would read as any', bucket({ prefix: '*/' }), 'cpt.buckets[0].prefix', '"*/"'],
    ['a prefix with a variable of policies', bucket({ prefix: '${aws:userid}/' }), 'cpt.buckets[0].prefix', '"${aws:userid}/"'],
    ['a prefix above the bucket', bucket({ prefix: '/' }), 'cpt.buckets[0].prefix', '"/"'],
    ['a prefix that is too long', bucket({ prefix: `${'a'.repeat(80)}/` }), 'cpt.buckets[0].prefix', `"${'a'.repeat(80)}/"`],
    ['a right as a word', bucket({ read: 'yes' }), 'cpt.buckets[0].read', '"yes"'],
    ['restoring without reading', bucket({ read: false, write: true, restore: true }), 'cpt.buckets[0].restore', 'true'],
    ['a right that is none', bucket({ list: true }), 'cpt.buckets[0].list', 'true'],
    ['a bucket for nothing', bucket({ read: false }), 'cpt.buckets[0].read', 'false'],
    ['who deletes and does not write', bucket({ delete: true }), 'cpt.buckets[0].delete', 'true'],
    ['starts by objects that nobody may read', bucket({ read: false, write: true, starts: true }), 'cpt.buckets[0].starts', 'true'],
    ['starts by objects of a region of which nobody tells', bucket({ region: 'ap-south-1', starts: true }), 'cpt.buckets[0].starts', 'true'],
    ['starts by objects of the control bucket', bucket({ bucket: 'cpt-control-1-us-west-2', starts: true }), 'cpt.buckets[0].starts', 'true'],
    ['a bucket of another partition', bucket({ region: 'cn-north-1' }), 'cpt.buckets[0].region', '"cn-north-1"'],
    ['a key by its alias', bucket({ kmsKey: 'alias/mine' }), 'cpt.buckets[0].kmsKey', '"alias/mine"'],
    ['a key of another region', bucket({ kmsKey: KEY }), 'cpt.buckets[0].kmsKey', `"${KEY}"`],
    ['the same bucket twice', { buckets: [MY_DATA, MY_DATA] }, 'cpt.buckets[1].bucket', '"my-data"'],
    ['eleven buckets', { buckets: ELEVEN }, 'cpt.buckets', JSON.stringify(ELEVEN)],
    ['buckets by name', { buckets: { 'my-data': { read: true } } }, 'cpt.buckets', '{"my-data":{"read":true}}'],
    ['starts as a list', { starts: [] }, 'cpt.starts', '[]'],
    ['a template with a name', asked({ name: 'x' }), 'cpt.starts.objects.a.request.name', '"x"'],
    ['a template that goes on', asked({ resume: true }), 'cpt.starts.objects.a.request.resume', 'true'],
    ['a template with an unknown key', asked({ sourse: 1 }), 'cpt.starts.objects.a.request.sourse', '1'],
    [
      'a template with a misspelt key',
      asked({ source: undefined, sourse: ENDS.source }),
      'cpt.starts.objects.a.request.sourse',
      JSON.stringify(ENDS.source),
    ],
    [
      'a template without a path',
      asked({ source: { ...ENDS.source, paths: undefined } }),
      'cpt.starts.objects.a.request.source.paths',
      'missing',
    ],
    [
      'a template with a path that is not absolute',
      asked({ source: { ...ENDS.source, paths: ['/data', '{key}'] } }),
      'cpt.starts.objects.a.request.source.paths[1]',
      '"{key}"',
    ],
    ['a template with fewer pairs than none', asked({ relays: { pairs: -3 } }), 'cpt.starts.objects.a.request.relays.pairs', '-3'],
    [
      'a template of a region that is not enrolled',
      asked({ source: { ...ENDS.source, region: 'ap-south-1' } }),
      'cpt.starts.objects.a.request.source.region',
      '"ap-south-1"',
    ],
    [
      'a schedule’s template with an unknown key',
      { starts: { schedules: { a: { expression: 'rate(1 day)', request: { ...ENDS, sourse: 1 } } } } },
      'cpt.starts.schedules.a.request.sourse',
      '1',
    ],
    ['a bucket that is none', { starts: { objects: { a: { bucket: 'E', request: ENDS } } } }, 'cpt.starts.objects.a.bucket', '"E"'],
    ['an image that nobody builds', { relayImage: 'ami-1' }, 'cpt.relayImage', '"ami-1"'],
    ['objects that go before an execution may end', { objectRetentionDays: 15 }, 'cpt.objectRetentionDays', '15'],
    ['data that is neither kept nor given up', { dataOnDestroy: true }, 'cpt.dataOnDestroy', 'true'],
    ['logs that are neither kept nor given up', { logsOnDestroy: 'keep' }, 'cpt.logsOnDestroy', '"keep"'],
    ['a letter to nobody', { notificationMail: 'me@example.com' }, 'cpt.notificationMail', '"me@example.com"'],
    ['an alarm to nobody', { alarmMail: [7] }, 'cpt.alarmMail', '7'],
    ['tags as a list', { tags: ['a'] }, 'cpt.tags', '["a"]'],
    ['a tag that is ours', { tags: { 'cpt:deployment': 'x' } }, 'cpt.tags', '"cpt:deployment"'],
    ['a tag without a text', { tags: { team: 7 } }, 'cpt.tags.team', '7'],
    ['more tags than a resource takes', { tags: tags(41) }, 'cpt.tags', JSON.stringify(tags(41))],
    ['a boundary by its name', { permissionsBoundary: 'boundary' }, 'cpt.permissionsBoundary', '"boundary"'],
    ['a budget of nothing', { maxCostUsd: 0 }, 'cpt.maxCostUsd', '0'],
    ['a time-to-live of a minute', { relayTimeToLiveMinutes: 1 }, 'cpt.relayTimeToLiveMinutes', '1'],
  ];
  it.each(cases)('%s', (_, change, key, value) => {
    const read = (): unknown => readSettings({ ...TWO_REGIONS, ...change });
    expect(read).toThrow(ConfigurationError);
    expect(read).toThrow(`context key "${key}" is ${value}: `);
  });

  const remedies: [string, Record<string, unknown>, string][] = [
    ['where an example of starts is', { starts: [] }, 'write an object; docs/use.md has an example under "Starting"'],
    ['the keys that there are', asked({ objective: { pairs: 1 } }), 'the keys are minimise, valueOfTimeUsdPerHour, maxCostUsd, onBudget, deadlineSeconds, deadlineConfidence'],
    ['the least', asked({ relays: { pairs: -3 } }), 'it must be >= 0'],
    ['the choices', asked({ compare: 'name' }), 'write one of "size-time", "digest"'],
    ['the version', asked({ schemaVersion: 2 }), 'write 1'],
    ['the kinds of number of pairs', asked({ relays: { pairs: 'many' } }), 'Relay pairs: a number, "auto"'],
    ['the regions', asked({ source: { ...ENDS.source, region: 'ap-south-1' } }), 'write one of "us-west-2", "eu-west-1"'],
  ];
  it.each(remedies)('a remedy names %s', (_, change, remedy) => {
    expect(() => readSettings({ ...TWO_REGIONS, ...change })).toThrow(remedy);
  });

  it.each(['relayImage', 'regions', 'cpt.relayImage'])('%s beside cpt, where nothing reads it', (key) => {
    const context = { ...shippedContext(), [key]: 'built' };
    expect(() => settingsOf(context, ['x86_64'])).toThrow(`context key "${key}" is "built": settings stand under "cpt"`);
  });

  it('text that is not JSON', () => {
    expect(() => readSettings('{name: cpt}')).toThrow('context key "cpt" is "{name: cpt}": write JSON');
  });

  it('more regions than a function’s environment holds', () => {
    const names = ['us-east-1', ...Array.from({ length: 10 }, (_, index) => `eu-west-${index}`)];
    const regions = Object.fromEntries(names.map((name) => [name, {}]));
    expect(() => readSettings({ ...TWO_REGIONS, regions })).toThrow('context key "cpt.regions"');
  });

  it('an Arm type says how to build the daemon for it, and is accepted once that is built', () => {
    const arm = { ...TWO_REGIONS, instanceTypes: ['c7gn.large', 'c6in.large'] };
    expect(() => readSettings(arm)).toThrow('run `make daemon-arm64` first');
    expect(readSettings(arm, ['x86_64', 'arm64']).instanceTypes).toEqual(['c7gn.large', 'c6in.large']);
  });

  it('x86-64 families with a g that is not Graviton’s are accepted', () => {
    expect(readSettings({ ...TWO_REGIONS, instanceTypes: ['g4dn.xlarge', 'c6in.large'] }).instanceTypes).toContain(
      'g4dn.xlarge',
    );
  });
});

describe('the schema', () => {
  it('says of each setting what it means, and of each whole number its bounds', () => {
    for (const [key, said] of Object.entries(schema.properties)) {
      expect(said.description, key).toMatch(/^[A-Z].{15,}\.$/);
      if (!('minimum' in said)) continue;
      const what = said.type === 'integer' ? 'a whole number' : 'a number';
      expect(said.remedy, key).toBe(`write ${what} from ${said.minimum} to ${said.maximum}`);
    }
  });
});

describe('docs/deploy.md', () => {
  const rows = readFileSync(path.join(ROOT, 'docs', 'deploy.md'), 'utf8')
    .split('\n')
    .filter((line) => /^\| `[a-zA-Z]+` \|/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')));

  it('names every key and no other', () => {
    const documented = rows.map(([, key]) => key);
    expect(documented.sort()).toEqual([...Object.keys(DEFAULTS), 'homeRegion', 'regions'].sort());
  });

  it('names each default as it is written', () => {
    for (const [, key = '', value = ''] of rows) {
      if (key in DEFAULTS) expect(JSON.parse(value), key).toEqual(DEFAULTS[key]);
      else expect(value).toBe('required');
    }
  });

  it('has an example of every key, and it can be used', () => {
    const blocks = readFileSync(path.join(ROOT, 'docs', 'deploy.md'), 'utf8').match(/```json\n[^`]*```/g) ?? [];
    const example = JSON.parse((blocks[0] ?? '').replace(/```(json)?/g, '')) as Record<string, unknown>;
    expect(Object.keys(example).sort()).toEqual([...Object.keys(DEFAULTS), 'homeRegion', 'regions'].sort());
    expect(() => readSettings(example)).not.toThrow();
  });
});

/** The role whose sessions bucket's seats get: what it may do, who may have it, and that it is not there without the setting. */

import { describe, expect, it } from 'vitest';
import {
  BUCKETS,
  environmentBytes,
  policies,
  rendered,
  resources,
  sharedEnvironment,
  statements,
  statementsOf,
  synthesize,
  TEN_REGIONS,
  text,
} from './synthesis';

const READ = ['s3:GetObject', 's3:GetObjectTagging', 's3:GetObjectVersion', 's3:GetObjectVersionTagging'];
const NAME = 'cpt-buckets';
// IAM's most for all policies inside of a role.
const MOST_POLICY = 10_240;

const HOLDERS = ['copy-unit', 'issue-credentials', 'list-archived', 'list-objects', 'restore-objects', 'survey-buckets', 'sweep-execution', 'sweep-uploads', 'tear-down', 'teardown-request'].map(
  (name) => `cpt-${name}`,
);

function roleOf(control: ReturnType<typeof synthesize>['control']): [string, Record<string, unknown>] | undefined {
  return Object.entries(resources(control, 'AWS::IAM::Role')).find(([, { RoleName }]) => RoleName === NAME);
}

describe('without buckets in the settings', () => {
  const { control } = synthesize();

  it('there is no role for them', () => {
    expect(roleOf(control)).toBeUndefined();
  });

  it('functions know of none', () => {
    expect(JSON.parse(rendered('', sharedEnvironment(control)) as string)).toMatchObject({ BUCKETS: [] });
  });
});

describe('with buckets in the settings', () => {
  const { control } = synthesize({ buckets: BUCKETS });
  const [id, role] = roleOf(control) ?? ['', {}];
  const granted = policies(control)
    .filter(({ roles }) => roles.includes(id))
    .flatMap(({ document }) => statements(document));

  /** Actions that are allowed on a resource. */
  const on = (resource: string): string[] => granted.filter(({ resources: all }) => all.includes(resource)).flatMap(({ actions }) => actions).sort();

  it('those that hand sessions out, copy, or take copies down may have them, of an hour at most', () => {
    const trusting = Object.values(resources(control, 'AWS::IAM::Role')).filter(({ AssumeRolePolicyDocument }) =>
      statements({ Statement: (AssumeRolePolicyDocument as { Statement: object[] }).Statement.map((one) => ({ ...one, Resource: '*' })) }).length > 0 &&
      JSON.stringify(AssumeRolePolicyDocument).includes('"AWS"'),
    );
    expect(trusting.map(({ RoleName }) => RoleName)).toEqual([NAME]);
    const { Statement } = role.AssumeRolePolicyDocument as { Statement: { Principal: { AWS: unknown }; Action: string }[] };
    const holders = Object.values(resources(control, 'AWS::Lambda::Function')).filter(({ FunctionName }) => HOLDERS.includes(FunctionName as string));
    expect(Statement).toHaveLength(1);
    expect(Statement[0]?.Action).toBe('sts:AssumeRole');
    expect([Statement[0]?.Principal.AWS].flat().map(text).sort()).toEqual(holders.map(({ Role }) => text(Role)).sort());
    expect(role.MaxSessionDuration).toBe(3600);
    const assuming = Object.values(resources(control, 'AWS::Lambda::Function')).filter(({ FunctionName }) =>
      statementsOf(control, FunctionName as string).some(({ actions }) => actions.includes('sts:AssumeRole')),
    );
    expect(assuming.map(({ FunctionName }) => FunctionName as string).sort()).toEqual(HOLDERS);
    expect(statementsOf(control, 'cpt-issue-credentials').find(({ actions }) => actions.includes('sts:AssumeRole'))?.resources).toEqual([
      `arn:<AWS::Partition>:iam::<AWS::AccountId>:role/${NAME}`,
    ]);
  });

  it('the role may do what is written, below the prefixes that are written, and nothing else', () => {
    const s3 = 'arn:<AWS::Partition>:s3:::';
    expect(on(`${s3}archive/*`)).toEqual([...READ, 's3:RestoreObject'].sort());
    const write = ['s3:AbortMultipartUpload', 's3:GetObject', 's3:ListMultipartUploadParts', 's3:PutObject', 's3:PutObjectTagging'];
    expect(on(`${s3}my-data/backup/*`)).toEqual([...READ, ...write].sort());
    expect(on(`${s3}my-data/backup/*.cpt-partial-*/*`)).toEqual(['s3:DeleteObject']);
    expect(on(`${s3}mirrors/team-a/*`)).toContain('s3:DeleteObject');
    expect(on(`${s3}mirrors/team-a/*`)).not.toContain('s3:GetObjectVersion');
    const known = [
      ...['archive', 'my-data', 'mirrors'].map((bucket) => s3 + bucket),
      ...['archive/*', 'my-data/backup/*', 'my-data/backup/*.cpt-partial-*/*', 'mirrors/team-a/*'].map((keys) => s3 + keys),
      'arn:aws:kms:eu-west-1:123456789012:key/1234abcd',
    ];
    expect(granted.flatMap(({ resources: all }) => all).filter((resource) => !known.includes(resource))).toEqual([]);
    expect(granted.flatMap(({ actions }) => actions).filter((action) => action.includes('*'))).toEqual([]);
  });

  it('it lists nothing outside of the prefixes', () => {
    const listing = granted.filter(({ actions }) => actions.includes('s3:ListBucket'));
    expect(listing.map(({ resources: [bucket], condition }) => [bucket?.split(':').at(-1), condition])).toEqual([
      ['archive', { StringLike: { 's3:prefix': '*' } }],
      ['my-data', { StringLike: { 's3:prefix': 'backup/*' } }],
      ['mirrors', { StringLike: { 's3:prefix': 'team-a/*' } }],
    ]);
  });

  it('it uses the key for objects of S3 alone', () => {
    const keys = granted.filter(({ actions }) => actions.some((action) => action.startsWith('kms:')));
    expect(keys).toHaveLength(1);
    expect(keys[0]?.actions).toEqual(['kms:Decrypt', 'kms:GenerateDataKey']);
    expect(JSON.stringify(keys[0]?.condition)).toContain('s3.eu-west-1.amazonaws.com');
  });

  it('functions know what is allowed', () => {
    expect(JSON.parse(rendered('', sharedEnvironment(control)) as string)).toMatchObject({
      BUCKETS: ['ra us-west-2 archive/', 'rw eu-west-1 my-data/backup/', 'wd eu-west-1 mirrors/team-a/ key=123456789012/1234abcd'],
    });
  });
});

describe('the most that settings may say', () => {
  const most = Array.from({ length: 10 }, (_, index) => ({
    bucket: `${index}`.padEnd(63, 'b'),
    prefix: `${'p'.repeat(79)}/`,
    region: 'ap-southeast-2',
    read: true,
    write: true,
    restore: true,
    kmsKey: `arn:aws-cn:kms:ap-southeast-2:123456789012:key/${'1'.repeat(36)}`,
  }));

  it('fits into the policy of a role and the environment of a function', () => {
    const { control } = synthesize({ regions: { 'us-west-2': {} }, buckets: most });
    const [id] = roleOf(control) ?? [''];
    const [policy] = policies(control).filter(({ roles }) => roles.includes(id));
    expect(JSON.stringify(policy?.document, rendered).length).toBeLessThan(MOST_POLICY);
    for (const { Environment } of Object.values(resources(control, 'AWS::Lambda::Function'))) {
      expect(environmentBytes(control, (Environment as { Variables: Record<string, unknown> }).Variables)).toBeLessThan(4096);
    }
  });

  it('is refused by name where subnets have taken the room', () => {
    expect(() => synthesize({ regions: TEN_REGIONS, buckets: most })).toThrow(/context key "cpt.buckets" .*name fewer, or shorter prefixes/);
  });
});

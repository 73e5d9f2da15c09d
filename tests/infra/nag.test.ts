import { Validations } from 'aws-cdk-lib';
import { IConstruct } from 'constructs';
import { describe, expect, it } from 'vitest';
import { acknowledgeWildcards } from '../../infra/lib/access/access';
import { BUCKETS, synthesize } from './synthesis';

/** `[path, id, reason]` of every AwsSolutions rule that somebody acknowledged. */
function acknowledgements(root: IConstruct): [string, string, string][] {
  return root.node.findAll().flatMap((construct) =>
    construct.node.metadata
      .filter(({ type }) => type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)
      .flatMap(({ data }) => Object.entries(data as Record<string, string>))
      .filter(([id]) => id.includes('AwsSolutions'))
      .map(([id, reason]): [string, string, string] => [construct.node.path, id, reason]),
  );
}

describe('cdk-nag’s AwsSolutions checks', () => {
  it('find nothing that is not acknowledged', () => {
    expect(() => synthesize({}, { nag: true })).not.toThrow();
  });

  it('find nothing with an existing VPC either', () => {
    const existing = {
      vpcId: 'vpc-0123456789abcdef0',
      availabilityZones: ['us-west-2a'],
      subnetIds: ['subnet-0123456789abcdef0'],
    };
    expect(() => synthesize({ regions: { 'us-west-2': existing, 'eu-west-1': {} } }, { nag: true })).not.toThrow();
  });

  it('find nothing where file systems may be read', () => {
    expect(() => synthesize({ readFileSystems: true }, { nag: true })).not.toThrow();
  });

  it('find nothing with schedules and rules for objects', () => {
    const request = {
      source: { instanceId: 'i-0aaaaaaaaaaaaaaa1', region: 'us-west-2', paths: ['/data'] },
      destination: { instanceId: 'i-0bbbbbbbbbbbbbbb2', region: 'eu-west-1', path: '/restore' },
    };
    const starts = {
      objects: { exports: { bucket: 'exports', request } },
      schedules: { nightly: { expression: 'rate(1 day)', request } },
    };
    expect(() => synthesize({ starts }, { nag: true })).not.toThrow();
  });

  it('find nothing with buckets', () => {
    expect(() => synthesize({ buckets: BUCKETS }, { nag: true })).not.toThrow();
  });

  it('are acknowledged on one resource at a time, one wildcard at a time, with a reason', () => {
    const found = acknowledgements(synthesize().app);
    expect(found.length).toBeGreaterThan(20);
    for (const [path, id, reason] of found) {
      expect(path.split('/').length, `${id} on ${path}`).toBeGreaterThan(2);
      expect(reason.length, `${id} on ${path}`).toBeGreaterThan(20);
      if (id.includes('IAM5')) expect(id, path).toMatch(/IAM5\[Resource::.+\]$/);
    }
  });

  it('a wildcard without a reason stops the synthesis', () => {
    const { app } = synthesize();
    expect(() => {
      acknowledgeWildcards(app, [{ actions: ['s3:GetObject'], resources: ['arn:aws:s3:::any/*'] }]);
    }).toThrow('s3:GetObject on arn:aws:s3:::any/* needs a reason');
  });
});

/** The standing pool: what the setting makes, what its nodes may do, and that nothing is there without it. */

import { describe, expect, it } from 'vitest';
import { nodeUserData } from '../../infra/lib/constructs/pool-fleet';
import { leaseBounds } from '../../infra/lib/constructs/relay-commands';
import { policies, POOL, resources, statements, statementsOf, synthesize, text } from './synthesis';

describe('without a pool in the settings', () => {
  const { app, control, region } = synthesize();

  it('there is neither a stack, a role nor a template for it', () => {
    expect(app.node.children.map(({ node }) => node.id)).not.toContain('cpt-pool');
    const roles = Object.values(resources(region('us-west-2'), 'AWS::IAM::Role')).map(({ RoleName }) => RoleName);
    expect(roles).not.toContain('cpt-pool-us-west-2');
    expect(JSON.stringify(control.toJSON())).not.toContain('cpt-pool');
  });
});

describe('with a pool in one region', () => {
  const { control, pool, region } = synthesize({ pool: POOL });

  it('the other one has nothing of it', () => {
    const templates = (name: string): unknown[] =>
      Object.values(resources(region(name), 'AWS::EC2::LaunchTemplate')).map(({ LaunchTemplateName }) => LaunchTemplateName);
    expect(templates('us-west-2').sort()).toEqual(['cpt-pool', 'cpt-relay']);
    expect(templates('eu-west-1')).toEqual(['cpt-relay']);
  });

  it('a node reaches items under its own ARN, and writes what nodes say', () => {
    const roles = resources(region('us-west-2'), 'AWS::IAM::Role');
    const [id] = Object.entries(roles).find(([, { RoleName }]) => RoleName === 'cpt-pool-us-west-2') ?? [];
    const own = policies(region('us-west-2')).filter((policy) => policy.roles.includes(id ?? ''));
    const ofTables = own.flatMap(({ document }) => statements(document)).filter(({ actions }) => actions.some((action) => action.startsWith('dynamodb:')));
    expect(ofTables.flatMap(({ actions }) => actions).sort()).toEqual(['dynamodb:Query', 'dynamodb:UpdateItem']);
    for (const { condition, resources: tables } of ofTables) {
      expect(tables).toEqual(['arn:<AWS::Partition>:dynamodb:us-west-2:<AWS::AccountId>:table/cpt-pool']);
      expect(condition['ForAllValues:StringEquals']?.['dynamodb:LeadingKeys']).toEqual(['${ec2:SourceInstanceARN}']);
      expect(condition.Null).toEqual({ 'dynamodb:LeadingKeys': 'false' });
    }
    const written = ofTables.find(({ actions }) => actions.includes('dynamodb:UpdateItem'))?.condition['ForAllValues:StringEquals'];
    for (const kept of ['command', 'limit', 'until', 'port', 'endedAt']) expect(written?.['dynamodb:Attributes']).not.toContain(kept);
  });

  it('nobody launches a machine with the nodes’ role but the pool’s own function', () => {
    const passed = (statement: { actions: string[]; resources: string[] }): boolean =>
      statement.actions.includes('iam:PassRole') && statement.resources.some((role) => role.includes('cpt-pool-'));
    expect(statementsOf(pool, 'cpt-keep-pool').some(passed)).toBe(true);
    const others = Object.values(resources(control, 'AWS::Lambda::Function')).map(({ FunctionName }) => text(FunctionName));
    expect(others.filter((name) => statementsOf(control, name).some(passed))).toEqual([]);
  });

  it('whoever reports may charge, and writes no node and no lease by that', () => {
    const puts = statementsOf(control, 'cpt-write-report').filter(({ resources: on }) => on.some((one) => one.endsWith('table/cpt-pool')));
    expect(puts.map(({ actions, condition }) => [actions, condition])).toEqual([
      [['dynamodb:PutItem'], { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['charges#*'] }, Null: { 'dynamodb:LeadingKeys': 'false' } }],
    ]);
  });

  it('a reader sees nodes and leases', () => {
    const policies = Object.values(resources(control, 'AWS::IAM::ManagedPolicy'));
    const [reader] = policies.filter(({ ManagedPolicyName }) => ManagedPolicyName === 'cpt-reader');
    const ofPool = statements(reader?.PolicyDocument).filter(({ resources: on }) => on.some((one) => one.endsWith('table/cpt-pool')));
    expect(ofPool.flatMap(({ actions }) => actions)).toEqual(['dynamodb:Scan']);
  });

  it('the keeper is invoked each minute, and as transfers come and go', () => {
    const rules = Object.values(resources(pool, 'AWS::Events::Rule'));
    expect(rules.map(({ Name }) => Name).sort()).toEqual(['cpt-keep-pool', 'cpt-keep-pool-on-change']);
    expect(rules.find(({ Name }) => Name === 'cpt-keep-pool')?.ScheduleExpression).toBe('rate(1 minute)');
  });

  it('cdk-nag finds nothing that is not acknowledged', () => {
    expect(() => synthesize({ pool: POOL }, { nag: true })).not.toThrow();
  });
});

it('leases together have what a relay of one transfer has', () => {
  expect(leaseBounds(1)).toEqual({ memory: '75%', descriptors: 65_536 });
  expect(leaseBounds(16)).toEqual({ memory: '4%', descriptors: 4096 });
});

it('user data of a node has room for what CloudFormation fills in', () => {
  const { settings } = synthesize({ pool: POOL });
  const daemon = { bucket: 'cdk-hnb659fds-assets-123456789012-ap-northeast-1', key: `${'a'.repeat(64)}.zip`, sha256: 'b'.repeat(64) };
  const [pool] = settings.pool;
  if (pool === undefined) throw new Error('no pool');
  expect(nodeUserData(settings, pool, { x86_64: daemon, arm64: daemon }).length).toBeLessThan(14_000);
});

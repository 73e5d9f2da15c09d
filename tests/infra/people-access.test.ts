import { describe, expect, it } from 'vitest';
import { resources, statements, synthesize } from './synthesis';

const { control } = synthesize();
const managed = Object.values(resources(control, 'AWS::IAM::ManagedPolicy'));

/** An ARN without service, region and account. */
function withoutPlace(arn: string): string {
  return arn.replace(/^arn:<AWS::Partition>:\w+:[\w-]*:(<AWS::AccountId>)?:/, '');
}

/** Actions of a policy, each with the resources that it is allowed on. */
function allowed(part: string): Record<string, string[]> {
  const policy = managed.find(({ ManagedPolicyName }) => ManagedPolicyName === `cpt-${part}`);
  const found: Record<string, string[]> = {};
  for (const { actions, resources: on } of statements(policy?.PolicyDocument)) {
    for (const action of actions) found[action] = [...(found[action] ?? []), ...on.map(withoutPlace)];
  }
  return found;
}

describe('policies for people', () => {
  it('a reader reads', () => {
    expect(allowed('reader')).toEqual({
      'lambda:GetFunctionConfiguration': ['function:cpt-validate-request'],
      'lambda:InvokeFunction': ['function:cpt-show-transfers'],
      'states:ListExecutions': ['stateMachine:cpt-transfer'],
      'states:DescribeExecution': ['execution:cpt-transfer:*', 'execution:cpt-waves:*'],
      'dynamodb:GetItem': ['table/cpt-transfers', 'table/cpt-arrivals'],
      'dynamodb:Query': ['table/cpt-transfers', 'table/cpt-nodes'],
      's3:GetObject': ['cpt-control-<AWS::AccountId>-us-west-2/transfers/*'],
      'scheduler:ListSchedules': ['*'],
      'scheduler:GetSchedule': ['schedule/cpt-starts/*', 'schedule/default/cpt-*'],
      'events:ListRules': ['*'],
      'events:ListTargetsByRule': ['rule/cpt-objects-*', 'rule/cpt/cpt-objects-*'],
    });
  });

  it('of the table of arrivals people reach the one item of added starts', () => {
    for (const part of ['reader', 'scheduler']) {
      const policy = managed.find(({ ManagedPolicyName }) => ManagedPolicyName === `cpt-${part}`);
      const [statement, ...others] = statements(policy?.PolicyDocument).filter(({ resources: on }) => on.some((one) => one.includes('cpt-arrivals')));
      expect(others).toEqual([]);
      expect(statement?.condition).toEqual({
        'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': ['added-starts'] },
        Null: { 'dynamodb:LeadingKeys': 'false' },
      });
    }
  });

  it('a starter starts, estimates, limits, pauses and cancels', () => {
    expect(allowed('starter')).toEqual({
      'lambda:GetFunctionConfiguration': ['function:cpt-validate-request'],
      'ec2:DescribeInstances': ['*'],
      'lambda:InvokeFunction': [
        'cancel-transfer',
        'drain-seat',
        'estimate-request',
        'limit-transfer',
        'limit-transfers',
        'pause-transfer',
        'start-from-schedule',
        'unpause-transfer',
      ].map((name) => `function:cpt-${name}`),
      'states:StartExecution': ['stateMachine:cpt-transfer', 'stateMachine:cpt-waves'],
      'states:DescribeExecution': ['execution:cpt-transfer:*', 'execution:cpt-waves:*'],
      'states:StopExecution': ['execution:cpt-transfer:*'],
      'dynamodb:GetItem': ['table/cpt-transfers'],
    });
  });

  it('an approver decides, and reads nothing', () => {
    expect(allowed('approver')).toEqual({ 'lambda:InvokeFunction': ['function:cpt-decide-approval'] });
  });

  it('a scheduler passes the one role without which no schedule starts anything', () => {
    expect(allowed('scheduler')).toEqual({
      'lambda:GetFunctionConfiguration': ['function:cpt-validate-request'],
      'scheduler:ListSchedules': ['*'],
      'scheduler:GetSchedule': ['schedule/cpt-starts/*', 'schedule/default/cpt-*'],
      'scheduler:CreateSchedule': ['schedule/cpt-starts/*'],
      'scheduler:UpdateSchedule': ['schedule/cpt-starts/*'],
      'scheduler:DeleteSchedule': ['schedule/cpt-starts/*'],
      'iam:PassRole': ['role/cpt-starts-us-west-2'],
      'events:ListRules': ['*'],
      'events:ListTargetsByRule': ['rule/cpt-objects-*', 'rule/cpt/cpt-objects-*'],
      'dynamodb:GetItem': ['table/cpt-arrivals'],
      'dynamodb:PutItem': ['table/cpt-arrivals'],
    });
  });

  it('are attached to nobody by the deployment, and named in its outputs', () => {
    for (const part of ['reader', 'starter', 'approver', 'scheduler']) {
      const policy = managed.find(({ ManagedPolicyName }) => ManagedPolicyName === `cpt-${part}`);
      expect([policy?.Roles, policy?.Users, policy?.Groups]).toEqual([undefined, undefined, undefined]);
      control.hasOutput(`${part.charAt(0).toUpperCase()}${part.slice(1)}PolicyArn`, {});
    }
  });
});

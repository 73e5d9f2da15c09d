import { describe, expect, it } from 'vitest';
import { CALLS_OF_TENANTS } from '../../infra/lib/names';
import { resources, rendered, statements, Statement, statementsOf, synthesize, text } from './synthesis';

const TENANTS = { tenants: { acme: { activeTransfers: 2 }, beta: {} } };
// A managed policy has so many characters, white space aside.
const MOST_OF_POLICY = 6144;

const { control, tenants = expect.fail('there is no stack for tenants') } = synthesize(TENANTS, { nag: true });
const aliases = Object.values(resources(control, 'AWS::StepFunctions::StateMachineAlias'));

/** An ARN without service, region and account. */
function withoutPlace(arn: string): string {
  return arn.replace(/^arn:<AWS::Partition>:[\w-]*:[\w-]*:(<AWS::AccountId>)?:/, '');
}

function policyOf(tenant: string): Statement[] {
  const found = Object.values(resources(tenants, 'AWS::IAM::ManagedPolicy')).find(({ ManagedPolicyName }) => ManagedPolicyName === `cpt-tenant-${tenant}`);
  return statements(found?.PolicyDocument);
}

describe('tenants', () => {
  it('have an alias of the state machine each, all of one version that follows the definition', () => {
    const [[version, properties] = expect.fail('there is no version')] = Object.entries(resources(control, 'AWS::StepFunctions::StateMachineVersion'));
    const revision = properties.StateMachineRevisionId as { 'Fn::GetAtt': [string, string] };
    expect(revision['Fn::GetAtt'][1]).toBe('StateMachineRevisionId');
    expect(Object.keys(resources(control, 'AWS::StepFunctions::StateMachine'))).toContain(revision['Fn::GetAtt'][0]);
    expect(aliases.map(({ Name, RoutingConfiguration }) => [Name, RoutingConfiguration])).toEqual(
      ['acme', 'beta'].map((name) => [name, [{ StateMachineVersionArn: { 'Fn::GetAtt': [version, 'Arn'] }, Weight: 100 }]]),
    );
  });

  it('have an alias of each function that acts for them, and of no other', () => {
    const found = Object.values(resources(tenants, 'AWS::Lambda::Alias')).map(({ Name, FunctionName, FunctionVersion }) => [Name, FunctionName, FunctionVersion]);
    const functions = [...CALLS_OF_TENANTS, 'start_from_schedule'].map((handler) => `cpt-${handler.replaceAll('_', '-')}`);
    expect(found.sort()).toEqual(['acme', 'beta'].flatMap((name) => functions.map((one) => [name, one, '$LATEST'])).sort());
  });

  it('may do exactly what is their own', () => {
    const found = policyOf('acme').map(({ actions, resources: on }) => [[...actions].sort().join(' '), on.map(withoutPlace)]);
    expect(Object.fromEntries(found)).toEqual({
      'states:ListExecutions states:StartExecution': ['stateMachine:cpt-transfer'],
      'states:DescribeExecution states:GetExecutionHistory states:StopExecution': ['execution:cpt-transfer:acme-*'],
      'dynamodb:GetItem dynamodb:Query': ['table/cpt-transfers'],
      'dynamodb:Query': ['table/cpt-nodes'],
      's3:GetObject': ['cpt-control-<AWS::AccountId>-us-west-2/transfers/acme-*'],
      's3:GetObject s3:PutObject': ['cpt-control-<AWS::AccountId>-us-west-2/requests/tenant=acme/*.json'],
      'lambda:InvokeFunction': CALLS_OF_TENANTS.map((handler) => `function:cpt-${handler.replaceAll('_', '-')}:acme`),
      'lambda:GetFunctionConfiguration': ['function:cpt-validate-request'],
      'ec2:DescribeInstances': ['*'],
      'scheduler:CreateSchedule scheduler:DeleteSchedule scheduler:GetSchedule scheduler:UpdateSchedule': ['schedule/cpt-starts-acme/*'],
      'iam:PassRole': ['role/cpt-starts-acme-us-west-2'],
    });
  });

  it('are held to their own alias and items by conditions that hold for no call without these keys', () => {
    const of = (action: string): Statement[] => policyOf('acme').filter(({ actions }) => actions.includes(action));
    expect(of('states:StartExecution').map(({ condition }) => condition)).toEqual([
      { 'ForAnyValue:StringEquals': { 'states:StateMachineQualifier': ['acme'] } },
    ]);
    expect(of('dynamodb:Query').map(({ condition }) => condition)).toEqual(
      [['acme-*', '*+acme-*'], ['acme-*']].map((keys) => ({
        'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': keys },
        Null: { 'dynamodb:LeadingKeys': 'false' },
      })),
    );
  });

  it('have schedules whose role reaches their alias, and that Scheduler takes from their group alone', () => {
    const roles = Object.values(resources(tenants, 'AWS::IAM::Role'));
    expect(roles.map(({ RoleName }) => RoleName)).toEqual(['cpt-starts-acme-us-west-2', 'cpt-starts-beta-us-west-2']);
    const [{ PolicyDocument }] = roles[0]?.Policies as [{ PolicyDocument: unknown }];
    expect(statements(PolicyDocument).flatMap(({ resources: on }) => on.map(withoutPlace))).toEqual([
      'function:cpt-start-from-schedule:acme',
      'cpt-start-from-schedule-dead-letters',
    ]);
    const trust = roles[0]?.AssumeRolePolicyDocument as { Statement: [{ Condition: { StringEquals: Record<string, unknown> } }] };
    expect(text(trust.Statement[0].Condition.StringEquals['aws:SourceArn'])).toMatch(/:schedule-group\/cpt-starts-acme$/);
  });

  it('have policies that IAM takes, with a name of the greatest length too', () => {
    const name = 'a'.repeat(20);
    const { tenants: long = expect.fail() } = synthesize({ tenants: { [name]: {} }, name: 'n'.repeat(20) });
    const [policy] = Object.values(resources(long, 'AWS::IAM::ManagedPolicy'));
    expect(JSON.stringify(policy?.PolicyDocument, rendered).replace(/\s/g, '').length).toBeLessThan(MOST_OF_POLICY);
  });

  it('fit into their stack where there are as many as may be', () => {
    const names = Array.from({ length: 35 }, (_, index) => [`a${index}`, {}]);
    const { tenants: many } = synthesize({ tenants: Object.fromEntries(names) as object });
    const { Resources } = many?.toJSON() as { Resources: object };
    expect(Object.keys(Resources).length).toBeLessThanOrEqual(500);
  });

  it('have ledgers, which whoever reports a transfer may settle, and no other item with them', () => {
    for (const name of ['write-report', 'sweep-execution', 'teardown-request']) {
      const found = statementsOf(control, `cpt-${name}`).filter(({ condition }) => JSON.stringify(condition).includes('tenant#'));
      expect(found.map(({ actions, condition }) => [actions, condition]), name).toEqual([
        [
          ['dynamodb:GetItem', 'dynamodb:PutItem'],
          { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['tenant#*'] }, Null: { 'dynamodb:LeadingKeys': 'false' } },
        ],
      ]);
    }
  });

  it('leave no trace where there are none', () => {
    const { control: plain, tenants: none } = synthesize();
    expect(none).toBeUndefined();
    for (const type of ['Version', 'Alias']) expect(resources(plain, `AWS::StepFunctions::StateMachine${type}`)).toEqual({});
    expect(JSON.stringify(plain.toJSON())).not.toMatch(/TENANTS|tenant#/);
  });
});

import { readFileSync } from 'node:fs';
import { Template } from 'aws-cdk-lib/assertions';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  endpointPolicy,
  environmentBytes,
  policies,
  rendered,
  resources,
  ROOT,
  Statement,
  statements,
  statementsOf,
  synthesize,
  TEN_REGIONS,
} from './synthesis';

const { control, settings } = synthesize();
const functions = Object.values(resources(control, 'AWS::Lambda::Function'));

describe('least privilege', () => {
  const all = [...resourcesWithPolicies()];

  it('no role has a wildcard action', () => {
    const wild = all.flatMap(([, { actions }]) => actions.filter((action) => action.includes('*')));
    expect(wild).toEqual([]);
  });

  it('only actions that AWS evaluates without a resource are on *', () => {
    const actions = all
      .filter(([, statement]) => statement.resources.includes('*'))
      .flatMap(([, statement]) => statement.actions);
    const free = [
      /^(ec2:Describe|xray:Put|ssmmessages:|states:SendTask)/,
      /^ssm:(CancelCommand|GetCommandInvocation|ListCommandInvocations|DescribeInstanceInformation|UpdateInstanceInformation)$/,
      /^logs:\w*(LogDelivery|LogDeliveries|ResourcePolic|LogGroups)/,
      /^xray:GetSampling/,
      /^(pricing:GetProducts|servicequotas:GetServiceQuota|scheduler:ListSchedules|events:ListRules)$/,
    ];
    expect(actions.filter((action) => !free.some((pattern) => pattern.test(action)))).toEqual([]);
  });

  it('what names no region is refused outside of the enrolled ones', () => {
    const anywhere = /^arn:<AWS::Partition>:\w+:\*:/;
    const roles = policies(control).filter(({ document }) => statements(document).some(({ resources: on }) => on.some((arn) => anywhere.test(arn))));
    const functionRoles = roles.filter(({ id }) => id.startsWith('Functions'));
    expect(functionRoles.length).toBeGreaterThan(10);
    for (const { id, document } of functionRoles) {
      const open = statements(document).filter(({ resources: on }) => on.some((arn) => anywhere.test(arn)));
      expect(statements(document, 'Deny'), id).toEqual([
        {
          actions: [...new Set(open.flatMap(({ actions }) => actions))].sort(),
          resources: ['*'],
          condition: { StringNotEquals: { 'aws:RequestedRegion': ['us-west-2', 'eu-west-1'] } },
        },
      ]);
    }
    // The ends read their program in whatever region they are: they know the bucket by the region that they ask.
    expect(roles.filter((role) => !functionRoles.includes(role)).map(({ id }) => id)).toEqual([expect.stringMatching(/^Endpoint/)]);
  });

  it('relays are launched only with our tag, types, profile and IMDSv2', () => {
    const launch = statementsOf(control, 'cpt-spawn-relays').find(
      ({ actions, resources: on }) =>
        actions.includes('ec2:RunInstances') && on.some((arn) => arn.endsWith(':instance/*')),
    );
    expect(launch?.condition).toEqual({
      StringEquals: {
        'aws:RequestTag/cpt:deployment': 'cpt',
        'ec2:InstanceType': settings.instanceTypes,
        'ec2:MetadataHttpTokens': 'required',
      },
      ArnEquals: { 'ec2:InstanceProfile': [expect.anything(), expect.anything()] as unknown },
    });
  });

  it('whoever may launch or command instances is named here', () => {
    const who = (action: string): string[] =>
      functions
        .map(({ FunctionName }) => FunctionName as string)
        .filter((name) => statementsOf(control, name).some(({ actions }) => actions.includes(action)))
        .sort();
    const launching = ['cpt-grow-relays', 'cpt-replace-relay', 'cpt-replan-routes', 'cpt-spawn-measured-relays', 'cpt-spawn-relays'];
    expect(who('ec2:RunInstances')).toEqual(launching);
    // The last two hand over the role of schedules, which may invoke one function.
    expect(who('iam:PassRole')).toEqual(['cpt-close-window', 'cpt-collect-object', ...launching]);
    expect(who('states:StopExecution')).toEqual(['cpt-cancel-transfer', 'cpt-teardown-request']);
    expect(who('states:StartExecution')).toEqual(['cpt-close-window', 'cpt-start-from-object', 'cpt-start-from-schedule']);
    expect(who('states:SendTaskHeartbeat')).toEqual(['cpt-watch-ends']);
    const asked = ['pricing:GetProducts', 'servicequotas:GetServiceQuota', 'ec2:DescribeSpotPriceHistory', 'iam:GetRole'];
    const estimating = [
      'apply-approval',
      'apply-measuring-approval',
      'await-price',
      'decide-relays',
      'estimate-measuring',
      'estimate-request',
      'estimate-transfer',
      'finish-survey',
      'grow-relays',
      'replan-routes',
    ];
    for (const action of asked) expect(who(action)).toEqual(estimating.map((name) => `cpt-${name}`));
  });

  it('terminating needs the deployment’s tag everywhere', () => {
    for (const [name, { actions, condition }] of all) {
      if (!actions.includes('ec2:TerminateInstances')) continue;
      expect(condition, name).toEqual({ StringEquals: { 'ec2:ResourceTag/cpt:deployment': 'cpt' } });
    }
  });

  it('a relay is started on our own machines and on those that were lent to us', () => {
    for (const name of ['cpt-await-measured-relays', 'cpt-await-relays', 'cpt-replace-relay', 'cpt-grow-relays', 'cpt-replan-routes']) {
      const sent = statementsOf(control, name).filter(({ actions }) => actions.includes('ssm:SendCommand'));
      const machines = sent.filter(({ resources: on }) => on.some((arn) => arn.endsWith(':instance/*')));
      expect(machines.map(({ condition }) => condition)).toEqual([
        { StringEquals: { 'ssm:resourceTag/cpt:deployment': 'cpt' } },
        { StringEquals: { 'ssm:resourceTag/cpt:lent-to': 'cpt' } },
      ]);
    }
  });

  it('ends are commanded without a tag by those named here, and with their owners’ tag alone where the setting says so', () => {
    const without = (template: Template): string[] =>
      functions
        .map(({ FunctionName }) => FunctionName as string)
        .filter((name) =>
          statementsOf(template, name).some(
            ({ actions, resources: on, condition }) =>
              actions.includes('ssm:SendCommand') && on.some((arn) => arn.endsWith(':instance/*')) && Object.keys(condition).length === 0,
          ),
        )
        .sort();
    const senders = [
      'delete-extras',
      'make-way',
      'resolve-measured-paths',
      'resolve-paths',
      'restart-end',
      'start-sender',
      'start-transfer',
      'survey-ends',
      'survey-measured-ends',
      'sweep-execution',
      'tear-down',
      'teardown-request',
    ];
    expect(without(control)).toEqual(senders.map((name) => `cpt-${name}`));
    const { control: consenting } = synthesize({ requireConsent: true });
    expect(without(consenting)).toEqual([]);
    for (const name of senders) {
      const tags = statementsOf(consenting, `cpt-${name}`)
        .filter(({ actions, resources: on }) => actions.includes('ssm:SendCommand') && on.some((arn) => arn.endsWith(':instance/*')))
        .map(({ condition }) => condition);
      expect(tags, name).toContainEqual({ StringEquals: { 'ssm:resourceTag/cpt:end': 'cpt' } });
      const lent = { StringEquals: { 'ssm:resourceTag/cpt:lent-to': 'cpt' } };
      // A teardown stops the daemons of machines that were lent.
      if (/tear|sweep/.test(name)) expect(tags, name).toContainEqual(lent);
    }
  });

  it('file systems are described by the functions that estimate with a survey, and only where the setting says so', () => {
    const describing = (template: Template): string[] =>
      functions
        .map(({ FunctionName }) => FunctionName as string)
        .filter((name) =>
          statementsOf(template, name).some(({ actions }) => actions.some((action) => action.endsWith(':DescribeFileSystems'))),
        )
        .sort();
    expect(describing(control)).toEqual([]);
    const { control: reading } = synthesize({ readFileSystems: true });
    expect(describing(reading)).toEqual(['cpt-estimate-measuring', 'cpt-estimate-transfer', 'cpt-finish-survey']);
    const granted = statementsOf(reading, 'cpt-estimate-transfer').flatMap(({ actions }) => actions);
    expect(granted).toEqual(expect.arrayContaining(['elasticfilesystem:DescribeFileSystems', 'fsx:DescribeFileSystems']));
  });

  it('clusters of EMR are asked about by the functions that accept requests, in the enrolled regions, and nothing of them is changed', () => {
    const asking = functions
      .map(({ FunctionName }) => FunctionName as string)
      .filter((name) => statementsOf(control, name).some(({ actions }) => actions.some((action) => action.startsWith('elasticmapreduce:'))))
      .sort();
    expect(asking).toEqual([
      'cpt-close-window',
      'cpt-estimate-request',
      'cpt-start-from-object',
      'cpt-start-from-schedule',
      'cpt-validate-request',
    ]);
    for (const name of asking) {
      const mine = statementsOf(control, name).filter(({ actions }) => actions.some((action) => action.startsWith('elasticmapreduce:')));
      expect(mine.map(({ actions, resources: on }) => ({ actions, on }))).toEqual([
        {
          actions: ['elasticmapreduce:DescribeCluster', 'elasticmapreduce:ListInstances'],
          on: [expect.stringMatching(/:elasticmapreduce:\*:.*:cluster\/\*$/)],
        },
      ]);
    }
  });

  it('commands are our documents only', () => {
    const targets = all
      .filter(([, { actions }]) => actions.includes('ssm:SendCommand'))
      .flatMap(([, statement]) => statement.resources);
    for (const arn of targets)
      expect(arn).toMatch(/:document\/cpt-(scan|delete|receive|send|relay|probe|log|stop)$|:instance\/\*$/);
  });

  it('two functions alone have things removed, and they can write no list of what is removed', () => {
    const senders = all.filter(([, { resources: on }]) => on.some((arn) => arn.endsWith(':document/cpt-delete')));
    expect(senders.map(([policy]) => policy).sort()).toEqual([
      expect.stringMatching(/^FunctionsDeleteExtrasRole/),
      expect.stringMatching(/^FunctionsMakeWayRole/),
    ]);
    for (const name of ['cpt-delete-extras', 'cpt-make-way']) {
      const written = statementsOf(control, name).filter(({ actions }) => actions.some((action) => /^s3:(Put|Delete)/.test(action)));
      // Lists of what is removed lie below `ends/`; what has become of each entry is told below `transfers/`.
      const told = name === 'cpt-delete-extras' ? [expect.stringMatching(/\/transfers\/\*$/)] : [];
      expect(written.flatMap(({ resources: on }) => on)).toEqual(told);
    }
  });

  it('the ends read and update two tables, of transfers only what agents write, and reach no token', () => {
    const policy = endpointPolicy(control);
    const granted = statements(policy?.PolicyDocument);
    const tables = granted.filter(({ actions }) => actions.some((action) => action.startsWith('dynamodb:')));
    expect(
      tables
        .flatMap((statement) => statement.resources)
        .map((arn) => arn.split('/').at(-1))
        .sort(),
    ).toEqual(['cpt-chunks', 'cpt-transfers', 'cpt-transfers']);
    expect(tables.flatMap(({ actions }) => actions).sort()).toEqual(
      ['BatchGetItem', 'GetItem', 'Query', 'UpdateItem', 'UpdateItem'].map((name) => `dynamodb:${name}`),
    );
    const attributes = writtenByEnds();
    for (const control of ['fenced', 'status', 'active', 'budget', 'spent', 'outcome', 'plan', 'request', 'version', 'paths'])
      expect(attributes).not.toContain(control);
    expect(attributes).not.toContain('membership');
    for (const { condition } of tables) {
      expect(condition['ForAllValues:StringLike']).toEqual({
        'dynamodb:LeadingKeys': ['${ec2:SourceInstanceARN}+*', '*+${ec2:SourceInstanceARN}+*'],
      });
      expect(condition.Null).toEqual({ 'dynamodb:LeadingKeys': 'false' });
    }
    expect(
      granted.flatMap(({ actions }) => actions).filter((action) => /^(ec2|iam|states|ssm:Send|ssm:Get)/.test(action)),
    ).toEqual([]);
  });

  it('the ends may write each attribute of a record that their daemons write', () => {
    const read = (file: string): string => readFileSync(path.join(ROOT, 'relay-ami', 'relay', 'control-aws', 'src', file), 'utf8');
    const daemon = read('aws.rs') + read(path.join('credentials', 'issuing.rs'));
    const named = [...daemon.matchAll(/\("(\w+)", (?:text|number|list)\(/g)].map(([, name]) => name);
    const keysOfChunks = ['rangeKey', 'itemKey'];
    const written = new Set(named.filter((name) => !keysOfChunks.includes(name ?? '')));
    expect([...written].sort()).toEqual([...writtenByEnds()].sort());
  });

  it('no policy outgrows what IAM allows, with ten regions and both daemons either', () => {
    const wide = synthesize({ regions: TEN_REGIONS }, { arm64: true }).control;
    const managed = Object.keys(resources(wide, 'AWS::IAM::ManagedPolicy'));
    for (const { id, document } of policies(wide)) {
      const most = managed.includes(id) ? 6144 : 10_240; // IAM's most for a managed policy, and for all that are inside of a role
      expect(JSON.stringify(document, rendered).length, id).toBeLessThan(most);
    }
    for (const { Environment } of Object.values(resources(wide, 'AWS::Lambda::Function'))) {
      expect(environmentBytes(wide, (Environment as { Variables: Record<string, unknown> }).Variables)).toBeLessThan(4096);
    }
  });

  /** Attributes of a transfer's records that the policy of the ends lets them write. */
  function writtenByEnds(): string[] {
    const records = statements(endpointPolicy(control)?.PolicyDocument).find(
      ({ actions, resources: on }) =>
        actions.includes('dynamodb:UpdateItem') && on.some((arn) => arn.endsWith('cpt-transfers')),
    );
    return records?.condition['ForAllValues:StringEquals']?.['dynamodb:Attributes'] as string[];
  }

  function* resourcesWithPolicies(): Generator<[string, Statement]> {
    for (const { id, document } of policies(control)) for (const statement of statements(document)) yield [id, statement];
  }
});

/** What invokes functions without a person: rules, schedules, and the queue of EC2's events. */

import { describe, expect, it } from 'vitest';
import { REACTIONS } from '../../infra/lib/names';
import { resources, statementsOf, synthesize, text } from './synthesis';

const { control, region } = synthesize();
const functions = Object.values(resources(control, 'AWS::Lambda::Function'));
const rules = Object.values(resources(control, 'AWS::Events::Rule'));
describe('rules', () => {
  const expected: [string, string, object][] = [
    ['cpt-retry-chunk', 'cpt-retry-chunk', { 'detail-type': ['Chunk Failed'] }],
    [
      'cpt-replace-relay',
      'cpt-replace-relay',
      {
        source: ['cpt.agent', 'cpt.control'],
        'detail-type': ['Relay Lost', 'Relay Slow', 'Relay Warned'],
      },
    ],
    ['cpt-grow-relays', 'cpt-grow-relays', { source: ['cpt.control'], 'detail-type': ['Rate Fell', 'Transfer Unpaused'] }],
    ['cpt-replan-routes', 'cpt-replan-routes', { source: ['cpt.control'], 'detail-type': ['Plan Due'] }],
    ['cpt-close-window', 'cpt-close-window', { source: ['cpt.control'], 'detail-type': ['Window Due'] }],
    ['cpt-lose-end', 'cpt-lose-end', { source: ['cpt.control'], 'detail-type': ['End Lost'] }],
    ['cpt-issue-credentials', 'cpt-issue-credentials', { source: ['cpt.agent'], 'detail-type': ['Credentials Wanted'] }],
    ['cpt-finish-transfer', 'cpt-finish-transfer', { 'detail-type': ['Transfer Delivered', 'Transfer Failed'] }],
    [
      'cpt-start-from-object',
      'cpt-start-from-object',
      { 'detail-type': ['Object Created'], detail: { object: { key: [{ wildcard: 'requests/*.json' }] } } },
    ],
    ['cpt-reconcile', 'cpt-reconcile', { source: ['cpt.control'], 'detail-type': ['Look Due'] }],
    ['cpt-restart-end', 'cpt-restart-end', { source: ['cpt.control'], 'detail-type': ['End Silent'] }],
    ['cpt-sweep-left', 'cpt-sweep-execution', { source: ['cpt.control'], 'detail-type': ['Execution Over'] }],
    ['cpt-sweep-execution', 'cpt-sweep-execution', { detail: { status: ['FAILED', 'ABORTED', 'TIMED_OUT'] } }],
  ];
  it.each(expected)('%s invokes %s', (rule, target, pattern) => {
    const found = rules.find(({ Name }) => Name === rule);
    expect(found?.EventPattern).toMatchObject(pattern);
    expect(targetsOf(found)).toEqual([target]);
  });

  it('executions of both state machines that end without having cleaned up are swept', () => {
    const { detail } = rules.find(({ Name }) => Name === 'cpt-sweep-execution')?.EventPattern as { detail: { stateMachineArn: unknown[] } };
    const machines = detail.stateMachineArn.map((machine) => text(machine).split('stateMachine:')[1]);
    expect(machines).toEqual(['cpt-transfer', 'cpt-waves']);
  });

  it.each(['cpt-watch-ends', 'cpt-watch-relays', 'cpt-watch-transfers'])('a schedule invokes %s every minute', (name) => {
    const found = rules.find(({ Name }) => Name === name);
    expect(found?.ScheduleExpression).toBe('rate(1 minute)');
    expect(targetsOf(found)).toEqual([name]);
  });

  it.each(['cpt-watch-ends', 'cpt-watch-relays', 'cpt-watch-transfers', 'cpt-reconcile'])(
    'what %s is told comes again in a minute: older is dropped, and nothing is tried again',
    (name) => {
      const once = { MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 0 };
      const [target] = rules.find(({ Name }) => Name === name)?.Targets as [{ RetryPolicy: object }];
      expect(target.RetryPolicy).toEqual(once);
      const invoked = Object.values(resources(control, 'AWS::Lambda::EventInvokeConfig')).filter(({ FunctionName }) =>
        text(FunctionName).includes(name.replace('cpt-', '').replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase())),
      );
      expect(invoked).toMatchObject([once]);
    },
  );

  it('listen where their events arrive: those of agents and relays on the bus, executions on the default bus', () => {
    const onBus = rules.filter(({ EventBusName }) => EventBusName !== undefined).map(({ Name }) => Name);
    expect(onBus.sort()).toEqual([
      'cpt-close-window',
      'cpt-finish-transfer',
      'cpt-grow-relays',
      'cpt-issue-credentials',
      'cpt-lose-end',
      'cpt-machine-ends',
      'cpt-notify',
      'cpt-reconcile',
      'cpt-replace-relay',
      'cpt-replan-routes',
      'cpt-restart-end',
      'cpt-retry-chunk',
      'cpt-sweep-left',
    ]);
  });

  it('have a dead-letter queue at every target, and every function behind them too', () => {
    const queues = resources(control, 'AWS::SQS::Queue');
    for (const { Targets } of rules) {
      for (const { DeadLetterConfig } of Targets as { DeadLetterConfig?: { Arn: unknown } }[]) {
        expect(queues).toHaveProperty(text(DeadLetterConfig?.Arn).replace(/^<(.*)\.Arn>$/, '$1'));
      }
    }
    const asked = functions.filter(({ DeadLetterConfig }) => DeadLetterConfig !== undefined);
    const unasked = REACTIONS.filter((name) => !asked.some(({ FunctionName }) => FunctionName === `cpt-${name.replaceAll('_', '-')}`));
    expect(asked).toHaveLength(REACTIONS.length - 2);
    expect(unasked).toEqual(['tell_machine_ends', 'collect_object']); // their queues hand over what failed too often
  });

  it('have an alarm on every dead-letter queue that leads to the runbook', () => {
    for (const template of [control, region('us-west-2'), region('eu-west-1')]) {
      const queues = Object.entries(resources(template, 'AWS::SQS::Queue')).filter(
        ([, { RedrivePolicy }]) => RedrivePolicy === undefined,
      );
      const alarms = Object.values(resources(template, 'AWS::CloudWatch::Alarm'));
      expect(queues.length).toBeGreaterThan(0);
      for (const [id, { QueueName }] of queues) {
        expect(alarms.find(({ AlarmName }) => AlarmName === QueueName)).toMatchObject({
          MetricName: 'ApproximateNumberOfMessagesVisible',
          Dimensions: [{ Name: 'QueueName', Value: { 'Fn::GetAtt': [id, 'QueueName'] } }],
          Threshold: 1,
          AlarmDescription: expect.stringContaining('docs/runbook.md#dead-letters') as unknown,
        });
      }
    }
  });

  it('have alarms that ring on a topic of their own region', () => {
    const ring = (name: string): string[] =>
      Object.values(resources(region(name), 'AWS::CloudWatch::Alarm')).flatMap(({ AlarmActions }) =>
        (AlarmActions as unknown[]).map(text),
      );
    expect(ring('us-west-2')).toEqual(['arn:<AWS::Partition>:sns:us-west-2:<AWS::AccountId>:cpt-alarms']);
    expect(resources(region('us-west-2'), 'AWS::SNS::Topic')).toEqual({});
    const topics = resources(region('eu-west-1'), 'AWS::SNS::Topic');
    expect(Object.values(topics)).toMatchObject([{ TopicName: 'cpt-alarms' }]);
    expect(ring('eu-west-1')).toEqual(Object.keys(topics).map((id) => `<${id}>`));
  });

  it('may reach their functions', () => {
    const calling = rules.filter((rule) => targetsOf(rule)[0] !== undefined);
    expect(calling.map(({ Name }) => Name)).not.toContain('cpt-notify');
    expect(Object.keys(resources(control, 'AWS::Lambda::Permission'))).toHaveLength(calling.length);
  });
});

describe('EC2’s events about machines that end', () => {
  const [[id, queue] = []] = Object.entries(resources(control, 'AWS::SQS::Queue')).filter(
    ([, { QueueName }]) => QueueName === 'cpt-machine-ends',
  );
  const reader = functions.find(({ FunctionName }) => FunctionName === 'cpt-tell-machine-ends');

  it('go to a queue, and those that it does not take to the dead letters', () => {
    const rule = rules.find(({ Name }) => Name === 'cpt-machine-ends');
    expect(rule?.EventPattern).toEqual({
      source: ['aws.ec2'],
      'detail-type': ['EC2 Instance State-change Notification', 'EC2 Spot Instance Interruption Warning'],
      detail: { state: [{ exists: false }, 'stopping', 'stopped', 'shutting-down', 'terminated'] },
    });
    expect(rule?.Targets).toMatchObject([{ Arn: { 'Fn::GetAtt': [id, 'Arn'] }, RetryPolicy: { MaximumEventAgeInSeconds: 3600 } }]);
    expect(rules.filter(({ EventPattern }) => (EventPattern as { source?: string[] } | undefined)?.source?.includes('aws.ec2'))).toEqual([rule]);
  });

  it('lie there encrypted, are sent over TLS alone and by the rule alone', () => {
    expect(queue?.SqsManagedSseEnabled).toBe(true);
    const [policy] = Object.values(resources(control, 'AWS::SQS::QueuePolicy')).filter(
      ({ Queues }) => JSON.stringify(Queues) === JSON.stringify([{ Ref: id }]),
    );
    const [rule] = Object.entries(resources(control, 'AWS::Events::Rule')).filter(([, { Name }]) => Name === 'cpt-machine-ends');
    expect((policy?.PolicyDocument as { Statement: unknown[] }).Statement).toMatchObject([
      { Effect: 'Deny', Action: 'sqs:*', Condition: { Bool: { 'aws:SecureTransport': 'false' } } },
      {
        Effect: 'Allow',
        Principal: { Service: 'events.amazonaws.com' },
        Condition: { ArnEquals: { 'aws:SourceArn': { 'Fn::GetAtt': [rule?.[0], 'Arn'] } } },
      },
    ]);
  });

  it('are read ten at a time, by two at once, and what failed comes again alone', () => {
    const [mapping, ...more] = Object.values(resources(control, 'AWS::Lambda::EventSourceMapping'));
    expect(more).toEqual([]);
    expect(mapping).toMatchObject({
      EventSourceArn: { 'Fn::GetAtt': [id, 'Arn'] },
      BatchSize: 10,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      ScalingConfig: { MaximumConcurrency: 2 },
    });
    expect(text(mapping?.FunctionName)).toContain('TellMachineEnds');
    // A window would delay each of them.
    expect(mapping?.MaximumBatchingWindowInSeconds).toBeUndefined();
  });

  it('are hidden for six of the reader’s timeouts, and given up after five', () => {
    expect(queue?.VisibilityTimeout).toBe(6 * (reader?.Timeout as number));
    const { deadLetterTargetArn, maxReceiveCount } = queue?.RedrivePolicy as { deadLetterTargetArn: unknown; maxReceiveCount: number };
    expect(maxReceiveCount).toBe(5);
    expect(text(deadLetterTargetArn)).toContain('TellMachineEndsDeadLetters');
  });

  it('are read by a role that may take them, ask the tables, and tell; nothing else', () => {
    const granted = statementsOf(control, 'cpt-tell-machine-ends').flatMap(({ actions }) => actions);
    expect(granted.filter((action) => !/^(logs|xray):/.test(action)).sort()).toEqual([
      'dynamodb:GetItem',
      'dynamodb:Query',
      'events:PutEvents',
      'sqs:DeleteMessage',
      'sqs:GetQueueAttributes',
      'sqs:ReceiveMessage',
    ]);
  });
});

describe('starts', () => {
  const request = {
    source: { instanceId: 'i-0aaaaaaaaaaaaaaa1', region: 'us-west-2', paths: ['/mnt/exports/{key}'] },
    destination: { instanceId: 'i-0bbbbbbbbbbbbbbb2', region: 'eu-west-1', path: '/restore' },
  };
  const { control: starting } = synthesize({
    starts: {
      objects: { exports: { bucket: 'exports', prefix: 'daily/', request } },
      schedules: { nightly: { expression: 'cron(30 2 * * ? *)', timeZone: 'Europe/Berlin', request } },
    },
  });

  it('are only request documents where nobody configures more', () => {
    control.resourceCountIs('AWS::Scheduler::Schedule', 0);
  });

  it('objects under a prefix hand their key to the template', () => {
    const rule = Object.values(resources(starting, 'AWS::Events::Rule')).find(({ Name }) => Name === 'cpt-objects-exports');
    expect(rule?.EventPattern).toEqual({
      source: ['aws.s3'],
      'detail-type': ['Object Created'],
      detail: { bucket: { name: ['exports'] }, object: { key: [{ prefix: 'daily/' }] } },
    });
    const [target] = rule?.Targets as [{ InputTransformer: { InputPathsMap: object; InputTemplate: string } }];
    expect(target.InputTransformer.InputPathsMap).toEqual({
      'detail-type': '$.detail-type',
      'detail-bucket': '$.detail.bucket',
      'detail-object': '$.detail.object',
    });
    expect(target.InputTransformer.InputTemplate).toBe(
      `{"detail-type":<detail-type>,"detail":{"bucket":<detail-bucket>,"object":<detail-object>,"request":${JSON.stringify(request)}}}`,
    );
  });

  it('a schedule hands over its name, its time and its request, and may do nothing else', () => {
    const [schedule] = Object.values(resources(starting, 'AWS::Scheduler::Schedule'));
    expect(schedule).toMatchObject({
      Name: 'cpt-nightly',
      ScheduleExpression: 'cron(30 2 * * ? *)',
      ScheduleExpressionTimezone: 'Europe/Berlin',
      FlexibleTimeWindow: { Mode: 'OFF' },
    });
    const { Input, DeadLetterConfig } = schedule?.Target as { Input: string; DeadLetterConfig: unknown };
    expect(DeadLetterConfig).toBeDefined();
    expect(JSON.parse(Input)).toEqual({
      'detail-type': 'Scheduled Start',
      detail: { schedule: 'nightly', scheduledTime: '<aws.scheduler.scheduled-time>', request },
    });
  });
});

function targetsOf(rule: Record<string, unknown> | undefined): unknown[] {
  const byId = resources(control, 'AWS::Lambda::Function');
  return ((rule?.Targets ?? []) as { Arn: unknown }[]).map(
    ({ Arn }) => byId[text(Arn).replace(/^<(.*)\.Arn>$/, '$1')]?.FunctionName,
  );
}

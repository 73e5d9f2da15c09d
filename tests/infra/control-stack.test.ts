import Ajv2020 from 'ajv/dist/2020';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import contract from '../../contracts/function-environment.schema.json';
import { CALLS, REACTIONS, STAGES } from '../../infra/lib/names';
import { endpointPolicy, environmentBytes, rendered, resources, statements, statementsOf, synthesize, text } from './synthesis';

const { control, region } = synthesize();
const functions = Object.values(resources(control, 'AWS::Lambda::Function'));
const rules = Object.values(resources(control, 'AWS::Events::Rule'));

describe('tables', () => {
  const keys: [string, string[], string | undefined][] = [
    ['cpt-transfers', ['transferId', 'record'], undefined],
    ['cpt-chunks', ['rangeKey', 'itemKey'], 'expiresAt'],
    ['cpt-nodes', ['transferId', 'nodeId'], undefined],
    ['cpt-profiles', ['subject', 'regionPair'], undefined],
    ['cpt-control-tokens', ['transferId', 'task'], undefined],
    ['cpt-idempotency', ['id'], 'expiration'],
  ];
  it.each(keys)('%s', (name, attributes, expiry) => {
    control.hasResourceProperties('AWS::DynamoDB::Table', {
      TableName: name,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: attributes.map((AttributeName, index) => ({ AttributeName, KeyType: index === 0 ? 'HASH' : 'RANGE' })),
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      SSESpecification: { SSEEnabled: true },
      TimeToLiveSpecification: expiry === undefined ? Match.absent() : { AttributeName: expiry, Enabled: true },
    });
  });

  it('have the indexes that find running transfers and a node by its instance', () => {
    const indexes = Object.values(resources(control, 'AWS::DynamoDB::Table')).flatMap(
      ({ TableName, GlobalSecondaryIndexes }) =>
        ((GlobalSecondaryIndexes ?? []) as { IndexName: string; KeySchema: { AttributeName: string }[] }[]).map(
          ({ IndexName, KeySchema }) => [TableName, IndexName, KeySchema.map(({ AttributeName }) => AttributeName)],
        ),
    );
    expect(indexes).toEqual([
      ['cpt-transfers', 'active', ['active', 'transferId']],
      ['cpt-transfers', 'running', ['active', 'transferId']],
      ['cpt-nodes', 'by-instance', ['instanceId']],
      ['cpt-nodes', 'of-instance', ['instanceId']],
    ]);
  });

  it('hold in the indexes that are read nothing that a running transfer changes', () => {
    const indexes = Object.values(resources(control, 'AWS::DynamoDB::Table')).flatMap(
      ({ GlobalSecondaryIndexes }) => (GlobalSecondaryIndexes ?? []) as { IndexName: string; Projection: object }[],
    );
    expect(Object.fromEntries(indexes.map(({ IndexName, Projection }) => [IndexName, Projection]))).toEqual({
      active: { ProjectionType: 'ALL' },
      running: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['source', 'destination'] },
      'by-instance': { ProjectionType: 'ALL' },
      'of-instance': { ProjectionType: 'KEYS_ONLY' },
    });
  });
});

it('the control bucket is private, refuses plain HTTP, tells EventBridge, and forgets transfers', () => {
  control.hasResourceProperties('AWS::S3::Bucket', {
    BucketName: { 'Fn::Join': ['', ['cpt-control-', { Ref: 'AWS::AccountId' }, '-us-west-2']] },
    PublicAccessBlockConfiguration: {
      BlockPublicAcls: true,
      BlockPublicPolicy: true,
      IgnorePublicAcls: true,
      RestrictPublicBuckets: true,
    },
    NotificationConfiguration: { EventBridgeConfiguration: { EventBridgeEnabled: true } },
    LifecycleConfiguration: {
      Rules: ['transfers/', 'ends/', 'requests/'].map((prefix) =>
        Match.objectLike({ Prefix: prefix, ExpirationInDays: 30, Status: 'Enabled' }),
      ),
    },
  });
  control.hasResourceProperties('AWS::S3::BucketPolicy', {
    PolicyDocument: {
      Statement: Match.arrayWith([
        Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
      ]),
    },
  });
});

describe('functions', () => {
  it('are one per stage, per reaction, and per call of people', () => {
    expect(functions.map(({ FunctionName }) => FunctionName).sort()).toEqual(
      [...STAGES, ...REACTIONS, ...CALLS].map((handler) => `cpt-${handler.replaceAll('_', '-')}`).sort(),
    );
  });

  it('run on the Python and the architecture that the local cloud runs', () => {
    for (const properties of functions) {
      expect(properties).toMatchObject({
        Runtime: 'python3.13',
        Architectures: ['x86_64'],
        TracingConfig: { Mode: 'Active' },
      });
    }
  });

  it('share one asset', () => {
    expect(new Set(functions.map(({ Code }) => JSON.stringify(Code))).size).toBe(1);
  });

  it('have a role and a log group with an end of their own', () => {
    expect(new Set(functions.map(({ Role }) => text(Role))).size).toBe(functions.length);
    const groups = resources(control, 'AWS::Logs::LogGroup');
    const used = functions.map(({ LoggingConfig }) =>
      text((LoggingConfig as { LogGroup: unknown }).LogGroup).slice(1, -1),
    );
    expect(new Set(used).size).toBe(functions.length);
    for (const id of used) expect(groups[id]?.RetentionInDays).toBe(30);
  });

  it('have the environment of the contract, within the 4 KB that Lambda allows', () => {
    const validate = new Ajv2020().compile(contract);
    for (const { Environment } of functions) {
      const { Variables } = Environment as { Variables: Record<string, unknown> };
      const { POWERTOOLS_SERVICE_NAME, POWERTOOLS_METRICS_NAMESPACE, LOG_LEVEL, ...ours } = Variables;
      expect([text(POWERTOOLS_SERVICE_NAME), POWERTOOLS_METRICS_NAMESPACE, LOG_LEVEL]).toEqual([expect.stringMatching(/^cpt-/), 'cpt', 'INFO']);
      validate(JSON.parse(JSON.stringify(ours, rendered)));
      expect(validate.errors).toBeNull();
      expect(environmentBytes(Variables)).toBeLessThan(4096);
    }
  });

  it('find the daemon in each region’s own asset bucket', () => {
    const { Variables } = functions[0]?.Environment as { Variables: Record<string, unknown> };
    expectDaemons(control, Variables.DAEMON_ASSETS, ['x86_64']);
  });

  it('find the daemon for arm64 as well once it is built', () => {
    const { control: both } = synthesize({ instanceTypes: ['c7gn.large'] }, { arm64: true });
    for (const { Environment } of Object.values(resources(both, 'AWS::Lambda::Function'))) {
      const { Variables } = Environment as { Variables: Record<string, unknown> };
      expectDaemons(both, Variables.DAEMON_ASSETS, ['x86_64', 'arm64']);
    }
  });

  it('keep copies for themselves only where the setting says so, and only those that transfers wait for', () => {
    const kept = (template: Template): [unknown, unknown][] =>
      Object.values(resources(template, 'AWS::Lambda::Function'))
        .filter(({ ReservedConcurrentExecutions }) => ReservedConcurrentExecutions !== undefined)
        .map(({ FunctionName, ReservedConcurrentExecutions }) => [FunctionName, ReservedConcurrentExecutions]);
    expect(kept(control)).toEqual([]);
    expect(kept(synthesize({ reservedConcurrency: 5 }).control).sort()).toEqual([
      ['cpt-finish-transfer', 5],
      ['cpt-watch-ends', 5],
    ]);
  });

  function expectDaemons(template: Template, variable: unknown, architectures: string[]): void {
    const { buckets, files } = JSON.parse(text(variable)) as {
      buckets: Record<string, string>;
      files: Record<string, { key: string; sha256: string }>;
    };
    expect(buckets).toEqual({
      'us-west-2': 'cdk-hnb659fds-assets-<AWS::AccountId>-us-west-2',
      'eu-west-1': 'cdk-hnb659fds-assets-<AWS::AccountId>-eu-west-1',
    });
    expect(Object.keys(files)).toEqual(architectures);
    for (const { sha256 } of Object.values(files)) expect(sha256).toMatch(/^[0-9a-f]{64}$/);
    // What the ends may read are the assets of the region that is asked: the key that stands once is the key in each.
    const policy = endpointPolicy(template);
    const readable = statements(policy?.PolicyDocument).flatMap((statement) => statement.resources);
    const bucket = 'cdk-hnb659fds-assets-<AWS::AccountId>-<aws:RequestedRegion>';
    for (const { key } of Object.values(files)) expect(readable).toContain(`arn:<AWS::Partition>:s3:::${bucket}/${key}`);
  }
});

describe('rules', () => {
  const expected: [string, string, object][] = [
    ['cpt-retry-chunk', 'cpt-retry-chunk', { 'detail-type': ['Chunk Failed'] }],
    [
      'cpt-replace-relay',
      'cpt-replace-relay',
      {
        source: ['cpt.agent', 'cpt.control'],
        'detail-type': ['Relay Lost', 'Relay Slow', 'Relay Warned', 'Rate Fell', 'Plan Due'],
      },
    ],
    ['cpt-lose-end', 'cpt-lose-end', { source: ['cpt.control'], 'detail-type': ['End Lost'] }],
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
      'cpt-finish-transfer',
      'cpt-lose-end',
      'cpt-machine-ends',
      'cpt-notify',
      'cpt-reconcile',
      'cpt-replace-relay',
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
    expect(asked).toHaveLength(REACTIONS.length - 1);
    expect(unasked).toEqual(['tell_machine_ends']); // its queue hands over what failed too often
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

describe('approval', () => {
  it('letters go to a topic that takes them over TLS only, and to nobody unless somebody is named', () => {
    control.hasResourceProperties('AWS::SNS::Topic', { TopicName: 'cpt-approvals' });
    control.hasResourceProperties('AWS::SNS::TopicPolicy', {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
        ]),
      },
    });
    control.resourceCountIs('AWS::SNS::Subscription', 0);
  });

  it('the addresses of the settings get them by mail', () => {
    const { control: mailing } = synthesize({ approvalMail: ['a@example.com', 'b@example.com'] });
    const subscriptions = Object.values(resources(mailing, 'AWS::SNS::Subscription'));
    expect(subscriptions.map(({ Protocol, Endpoint }) => [Protocol, Endpoint])).toEqual([
      ['email', 'a@example.com'],
      ['email', 'b@example.com'],
    ]);
  });

  it('every function knows that topic, and one may write to it', () => {
    const { Variables } = functions[0]?.Environment as { Variables: Record<string, unknown> };
    expect(text(Variables.APPROVAL_TOPIC_ARN)).toMatch(/:sns:us-west-2:.*:cpt-approvals$/);
    const writers = functions.filter(({ FunctionName }) =>
      statementsOf(control, FunctionName as string).some(({ actions }) => actions.includes('sns:Publish')),
    );
    expect(writers.map(({ FunctionName }) => FunctionName)).toEqual(['cpt-await-approval']);
  });
});

it('outputs what an operator attaches and starts', () => {
  for (const name of [
    'StateMachineArn',
    'ControlBucketName',
    'EventBusName',
    'EndpointPolicyArn',
    'ApprovalTopicArn',
    'DecideApprovalFunctionArn',
    'EstimateRequestFunctionArn',
    'LimitTransferFunctionArn',
    'TeardownRequestFunctionArn',
    'TransfersTableName',
    'ChunksTableName',
  ]) {
    control.hasOutput(name, {});
  }
});

function targetsOf(rule: Record<string, unknown> | undefined): unknown[] {
  const byId = resources(control, 'AWS::Lambda::Function');
  return ((rule?.Targets ?? []) as { Arn: unknown }[]).map(
    ({ Arn }) => byId[text(Arn).replace(/^<(.*)\.Arn>$/, '$1')]?.FunctionName,
  );
}

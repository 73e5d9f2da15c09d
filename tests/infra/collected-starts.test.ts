/** Starts that collect objects: what their settings may say, and the rules, queue and schedules of windows that they get. */

import { describe, expect, it } from 'vitest';
import { ConfigurationError, readSettings } from '../../infra/lib/config';
import { resources, statementsOf, synthesize, text, TWO_REGIONS } from './synthesis';

const MACHINE = { instanceId: 'i-0bbbbbbbbbbbbbbb2', region: 'eu-west-1', path: '/restore' };
const SOURCE = { kind: 'bucket', bucket: 'exports', prefix: 'daily/', region: 'us-west-2' };
const START = { bucket: 'exports', prefix: 'daily/', request: { source: SOURCE, destination: MACHINE } };

const BUCKETS = [
  { bucket: 'exports', region: 'us-west-2', read: true, write: true },
  { bucket: 'far', region: 'eu-west-1', prefix: 'daily/', read: true },
  { bucket: 'second', region: 'us-west-2', prefix: 'moved/', read: true, write: true },
];
const started = (change: object, others: object = {}): Record<string, unknown> => ({
  ...TWO_REGIONS,
  buckets: BUCKETS,
  starts: { objects: { a: { ...START, ...change }, ...others } },
});
const asked = (change: object): Record<string, unknown> => started({ request: { ...START.request, ...change } });
const to = (bucket: string, prefix = ''): object => ({ kind: 'bucket', bucket, prefix, region: 'us-west-2' });

describe('settings of a start that collects objects', () => {
  it('have a window of a minute and the region of the source, unless they say more', () => {
    const [start] = readSettings(started({})).starts.objects;
    expect(start).toMatchObject({ windowSeconds: 60, region: 'us-west-2', prefix: 'daily/' });
    const request = { ...START.request, source: { ...SOURCE, bucket: 'far', region: 'eu-west-1' } };
    const [away] = readSettings(started({ bucket: 'far', windowSeconds: 300, suffix: '.csv', request })).starts.objects;
    expect(away).toMatchObject({ windowSeconds: 300, region: 'eu-west-1', suffix: '.csv' });
  });

  const cases: [string, Record<string, unknown>, string, string, string][] = [
    ['a window of a second', started({ windowSeconds: 1 }), 'a.windowSeconds', '1', 'from 10 to 3600'],
    ['a window in words', started({ windowSeconds: '60s' }), 'a.windowSeconds', '"60s"', 'from 10 to 3600'],
    ['a suffix with a star', started({ suffix: '*.csv' }), 'a.suffix', '"*.csv"', 'without *'],
    [
      'a window for a machine’s files',
      started({ windowSeconds: 60, request: { ...START.request, source: { instanceId: 'i-0aaaaaaaaaaaaaaa1', region: 'us-west-2', paths: ['/mnt/{key}'] } } }),
      'a.windowSeconds',
      '60',
      '"source": {"kind": "bucket", "bucket": "exports"',
    ],
    ['another bucket than it listens to', asked({ source: { ...SOURCE, bucket: 'imports' } }), 'a.request.source.bucket', '"imports"', 'write "exports"'],
    ['a prefix beside the one that it listens to', asked({ source: { ...SOURCE, prefix: 'weekly/' } }), 'a.request.source.prefix', '"weekly/"', '"daily/"'],
    ['a bucket of a region that is not enrolled', asked({ source: { ...SOURCE, region: 'ap-south-1' } }), 'a.request.source.region', '"ap-south-1"', 'enrol it'],
    ['the place of a key', asked({ destination: { ...MACHINE, path: '/restore/{key}' } }), 'a.request', '"{key}"', 'a list of keys'],
    ['a list of its own', asked({ source: { ...SOURCE, keys: { manifest: `keys/${'0'.repeat(64)}.ndjson` } } }), 'a.request.source.keys', '{"manifest"', 'leave it out'],
    ['a bucket without a region', asked({ source: { ...SOURCE, region: undefined } }), 'a.request.source.region', 'missing', 'a request needs it'],
    ['a kind that there is not', asked({ source: { ...SOURCE, kind: 'pail' } }), 'a.request.source', '{"kind":"pail"', 'by kind of end'],
    ['the control bucket', started({ bucket: 'cpt-control-1-us-west-2' }), 'a.bucket', '"cpt-control-1-us-west-2"', 'control bucket'],
    ['more than a rule can hand over', asked({ label: 'x', tags: Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`${'k'.repeat(100)}${at}`, 'v'.repeat(250)])) }), 'a.request', '"{', '7000'],
    ['a source that nobody may read', { ...started({}), buckets: [{ bucket: 'exports', region: 'us-west-2', prefix: 'other/', read: true }] }, 'a.request.source', '{"bucket":"exports","prefix":"daily/","region":"us-west-2"}', 'add it with "read": true'],
    ['a destination that nobody may write', asked({ destination: to('second', 'daily/') }), 'a.request.destination', '{"bucket":"second","prefix":"daily/","region":"us-west-2"}', 'add it with "write": true'],
    ['where it listens', asked({ destination: to('exports', 'daily/') }), 'a', '{"bucket":"exports","prefix":"daily/"}', 'start itself for ever'],
    ['above where it listens', asked({ destination: to('exports') }), 'a', '{"bucket":"exports","prefix":"daily/"}', 'it writes where it listens (exports/daily/)'],
    ['below where it listens', asked({ destination: to('exports', 'daily/new/') }), 'a', '{"bucket":"exports","prefix":"daily/"}', 'for ever'],
    [
      'what leads back to it',
      started(
        { request: { ...START.request, destination: to('second', 'moved/') } },
        { b: { bucket: 'second', prefix: 'moved/', request: { source: { ...SOURCE, bucket: 'second', prefix: 'moved/' }, destination: to('exports', 'daily/') } } },
      ),
      'a',
      '{"bucket":"exports","prefix":"daily/"}',
      'cpt.starts.objects.b, which it leads to, writes where it listens',
    ],
  ];
  it.each(cases)('%s is refused by key, value and remedy', (_, settings, key, value, remedy) => {
    const read = (): unknown => readSettings(settings);
    expect(read).toThrow(ConfigurationError);
    expect(read).toThrow(`context key "cpt.starts.objects.${key}" is ${value}`);
    expect(read).toThrow(remedy);
  });

  it('may write beside where it listens, and where another one listens that does not lead back', () => {
    expect(() => readSettings(asked({ destination: to('exports', 'done/') }))).not.toThrow();
    const next = { bucket: 'second', prefix: 'moved/', request: { source: { ...SOURCE, bucket: 'second', prefix: 'moved/' }, destination: MACHINE } };
    expect(() => readSettings(started({ request: { ...START.request, destination: to('second', 'moved/') } }, { b: next }))).not.toThrow();
  });
});

describe('a start that collects objects', () => {
  const away = { source: { ...SOURCE, bucket: 'far', region: 'eu-west-1' }, destination: MACHINE };
  const { control, region } = synthesize({
    buckets: BUCKETS,
    starts: { objects: { here: { ...START, suffix: '.csv' }, away: { ...START, bucket: 'far', request: away, windowSeconds: 30 } } },
  });
  const rules = Object.values(resources(control, 'AWS::Events::Rule'));
  const rule = (name: string): Record<string, unknown> | undefined => rules.find(({ Name }) => Name === name);
  const target = (name: string): { Arn: unknown; InputTransformer: { InputTemplate: string }; DeadLetterConfig: unknown } =>
    (rule(name)?.Targets as [never])[0];
  const [[queueId, queue] = []] = Object.entries(resources(control, 'AWS::SQS::Queue')).filter(
    ([, { QueueName }]) => QueueName === 'cpt-arrivals',
  );

  it('hears its bucket in the home region, with both ends of the key', () => {
    expect(rule('cpt-objects-here')).toMatchObject({
      EventPattern: {
        source: ['aws.s3'],
        'detail-type': ['Object Created'],
        region: ['us-west-2'],
        detail: { bucket: { name: ['exports'] }, object: { key: [{ wildcard: 'daily/*.csv' }] } },
      },
    });
    expect(rule('cpt-objects-here')).not.toHaveProperty('EventBusName');
  });

  it('hears another region’s bucket on the bus, to which that region’s stack forwards it', () => {
    expect(rule('cpt-objects-away')).toHaveProperty('EventBusName');
    expect(rule('cpt-objects-away')).toMatchObject({ EventPattern: { region: ['eu-west-1'], detail: { object: { key: [{ prefix: 'daily/' }] } } } });
    const forwarding = Object.values(resources(region('eu-west-1'), 'AWS::Events::Rule')).find(({ Name }) => Name === 'cpt-forward-objects-away');
    expect(forwarding).toMatchObject({
      EventPattern: { source: ['aws.s3'], detail: { bucket: { name: ['far'] } } },
      Targets: [{ RoleArn: expect.anything() as unknown, DeadLetterConfig: expect.anything() as unknown }],
    });
    const names = Object.values(resources(region('us-west-2'), 'AWS::Events::Rule')).map(({ Name }) => Name);
    expect(names).toEqual(['cpt-forward-ec2']);
  });

  it('hands over the write and itself to a queue, of which ten batches are read at once', () => {
    const { Arn, InputTransformer, DeadLetterConfig } = target('cpt-objects-away');
    expect(text(Arn)).toBe(`<${String(queueId)}.Arn>`);
    expect(DeadLetterConfig).toBeDefined();
    expect(InputTransformer.InputTemplate).toBe(
      `{"detail-type":<detail-type>,"detail":{"bucket":<detail-bucket>,"object":<detail-object>,"start":${JSON.stringify({ name: 'away', windowSeconds: 30, request: away })}}}`,
    );
    expect(queue).toMatchObject({ VisibilityTimeout: 120, RedrivePolicy: { maxReceiveCount: 5 } });
    const mapping = Object.values(resources(control, 'AWS::Lambda::EventSourceMapping')).find(
      ({ EventSourceArn }) => text(EventSourceArn) === `<${String(queueId)}.Arn>`,
    );
    expect(mapping).toMatchObject({ BatchSize: 10, ScalingConfig: { MaximumConcurrency: 10 }, FunctionResponseTypes: ['ReportBatchItemFailures'] });
  });

  it('has windows whose schedules may invoke one function, and whose makers may make no others', () => {
    expect(Object.values(resources(control, 'AWS::Scheduler::ScheduleGroup')).map(({ Name }) => Name)).toContain('cpt-windows');
    const role = Object.entries(resources(control, 'AWS::IAM::Role')).find(([, { RoleName }]) => RoleName === 'cpt-windows-us-west-2');
    expect(JSON.stringify(role?.[1].AssumeRolePolicyDocument)).toContain('scheduler.amazonaws.com');
    const policy = Object.values(resources(control, 'AWS::IAM::Policy')).find(({ Roles }) => text((Roles as unknown[])[0]) === `<${String(role?.[0])}>`);
    const statements = (policy?.PolicyDocument as { Statement: { Action: string; Resource: unknown }[] }).Statement;
    expect(statements.map(({ Action }) => Action)).toEqual(['lambda:InvokeFunction', 'sqs:SendMessage']);
    expect(text(statements[0]?.Resource)).toMatch(/CloseWindow/);
    for (const maker of ['cpt-collect-object', 'cpt-close-window']) {
      const granted = statementsOf(control, maker);
      const making = granted.find(({ actions }) => actions.includes('scheduler:CreateSchedule'));
      expect(making?.resources.map(text)).toEqual(['arn:<AWS::Partition>:scheduler:us-west-2:<AWS::AccountId>:schedule/cpt-windows/*']);
      const passing = granted.find(({ actions }) => actions.includes('iam:PassRole'));
      expect(passing?.resources.map(text)).toEqual(['arn:<AWS::Partition>:iam::<AWS::AccountId>:role/cpt-windows-us-west-2']);
      expect(JSON.stringify(passing?.condition)).toContain('scheduler.amazonaws.com');
    }
  });

  it('leaves nothing of this where no start collects', () => {
    const { control: plain } = synthesize();
    expect(Object.values(resources(plain, 'AWS::Scheduler::ScheduleGroup')).map(({ Name }) => Name)).not.toContain('cpt-windows');
    expect(Object.values(resources(plain, 'AWS::SQS::Queue')).map(({ QueueName }) => QueueName)).not.toContain('cpt-arrivals');
  });

  it('is nothing that cdk-nag finds', () => {
    const objects = { here: START, away: { ...START, bucket: 'far', request: away } };
    expect(() => synthesize({ buckets: BUCKETS, starts: { objects } }, { nag: true })).not.toThrow();
  });
});

describe('buckets for which people add starts', () => {
  const buckets = [
    { bucket: 'exports', prefix: 'a/', region: 'us-west-2', read: true, starts: true },
    { bucket: 'exports', prefix: 'b/', region: 'us-west-2', read: true, starts: true },
    { bucket: 'far', region: 'eu-west-1', read: true, starts: true },
    { bucket: 'silent', region: 'us-west-2', read: true },
  ];
  const { control, region } = synthesize({ buckets });
  const named = (template: typeof control, beginning: string): Record<string, unknown>[] =>
    Object.values(resources(template, 'AWS::Events::Rule')).filter(({ Name }) => text(Name).startsWith(beginning));

  it('are heard by a rule each, for the prefixes of which the settings say so', () => {
    const heard = named(control, 'cpt-added-').map(({ EventPattern, EventBusName }) => [EventPattern, EventBusName !== undefined]);
    const pattern = (bucket: string, where: string, prefixes: string[]): object => ({
      source: ['aws.s3'],
      'detail-type': ['Object Created'],
      region: [where],
      detail: { bucket: { name: [bucket] }, object: { key: prefixes.map((prefix) => ({ prefix })) } },
    });
    expect(heard).toEqual([
      [pattern('exports', 'us-west-2', ['a/', 'b/']), false],
      [pattern('far', 'eu-west-1', ['']), true],
    ]);
  });

  it('hand over the write alone: which start takes it the function looks up', () => {
    for (const { Targets } of named(control, 'cpt-added-')) {
      const [{ InputTransformer, DeadLetterConfig }] = Targets as [{ InputTransformer: { InputTemplate: string }; DeadLetterConfig: unknown }];
      expect(InputTransformer.InputTemplate).toBe('{"detail-type":<detail-type>,"detail":{"bucket":<detail-bucket>,"object":<detail-object>}}');
      expect(DeadLetterConfig).toBeDefined();
    }
  });

  it('of another region are forwarded by its stack, and no other region forwards them', () => {
    expect(named(region('eu-west-1'), 'cpt-forward-added-')).toMatchObject([{ EventPattern: { detail: { bucket: { name: ['far'] } } } }]);
    expect(named(region('us-west-2'), 'cpt-forward-added-')).toEqual([]);
  });

  it('are told to the functions, which judge what is added', () => {
    expect(JSON.stringify(control.toJSON())).toContain('rs us-west-2 exports/a/');
  });

  it('are nothing that cdk-nag finds', () => {
    expect(() => synthesize({ buckets }, { nag: true })).not.toThrow();
  });
});

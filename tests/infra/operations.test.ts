import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { workflowDefinition } from '../../infra/lib/workflow-definition';
import { resources, ROOT, Statement, statements, synthesize, text } from './synthesis';

const { control, region } = synthesize({ alarmUsdPerDay: 250 });
const alarms = [control, region('us-west-2'), region('eu-west-1')].flatMap((template) =>
  Object.values(resources(template, 'AWS::CloudWatch::Alarm')),
);
const RUNBOOK = readFileSync(path.join(ROOT, 'docs', 'runbook.md'), 'utf8');
const articles = [...RUNBOOK.matchAll(/^## ([a-z-]+)$/gm)].map(([, name]) => name);

interface Metric {
  readonly Namespace: string;
  readonly MetricName: string;
  readonly Dimensions?: { Name: string; Value: unknown }[];
}

/** Names of our own metrics, as the Lambdas know them. */
function ours(): string[] {
  const source = readFileSync(path.join(ROOT, 'lambdas', 'core', 'metrics.py'), 'utf8');
  return [...source.matchAll(/^ {4}"(\w+)": "/gm)].map(([, name]) => name ?? '');
}

/** Text of the dashboard, with its tokens as text too. */
function dashboard(): string {
  const [found] = Object.values(resources(control, 'AWS::CloudWatch::Dashboard'));
  expect(found?.DashboardName).toBe('cpt');
  return text(found?.DashboardBody);
}

describe('alarms', () => {
  it('each has an article in the runbook that it links to, and each article an alarm', () => {
    const linked = alarms.map(({ AlarmDescription }) => /docs\/runbook\.md#([a-z-]+)$/.exec(AlarmDescription as string)?.[1]);
    expect(linked).not.toContain(undefined);
    expect(new Set(linked)).toEqual(new Set(articles));
  });

  it.each(alarms.map((alarm) => [alarm.AlarmName as string, alarm] as const))('%s tells somebody', (_, alarm) => {
    expect(alarm.AlarmActions).toHaveLength(1);
  });

  it('ring by letter: CloudWatch may write to the topic, for alarms of this deployment', () => {
    control.hasResourceProperties('AWS::SNS::Topic', { TopicName: 'cpt-alarms' });
    const policies = Object.values(resources(control, 'AWS::SNS::TopicPolicy'));
    const allowed = policies.flatMap(({ PolicyDocument }) =>
      statements(PolicyDocument).filter(({ condition }) => 'ArnLike' in condition),
    );
    expect(allowed.map(source)).toEqual(['arn:<AWS::Partition>:cloudwatch:us-west-2:<AWS::AccountId>:alarm:cpt-*']);
  });

  it('a reconciler that does not run is silent, and that rings', () => {
    expect(alarms.find(({ AlarmName }) => AlarmName === 'cpt-reconciler-silent')).toMatchObject({
      TreatMissingData: 'breaching',
      ComparisonOperator: 'LessThanThreshold',
      EvaluationPeriods: 3,
    });
  });

  it('an end that is not watched rings long before its transfer fails, also where nobody says so', () => {
    const alarm = alarms.find(({ AlarmName }) => AlarmName === 'cpt-ends-unwatched');
    expect(alarm).toMatchObject({
      MetricName: 'EndsUnwatched',
      Statistic: 'Maximum',
      Threshold: 1,
      TreatMissingData: 'breaching',
      ComparisonOperator: 'GreaterThanOrEqualToThreshold',
    });
    const { Period, EvaluationPeriods } = alarm as { Period: number; EvaluationPeriods: number };
    const beats = /"HeartbeatSeconds": (\d+)/.exec(workflowDefinition())?.[1];
    expect(Period * EvaluationPeriods).toBeLessThanOrEqual(Number(beats) / 2);
  });

  it('look at what the services themselves throttle, stop or run late', () => {
    const simple = alarms.map(({ MetricName }) => MetricName);
    const expected = ['ExecutionsFailed', 'ExecutionsTimedOut', 'ExecutionsAborted', 'ExecutionThrottled'];
    expect(simple).toEqual(expect.arrayContaining(expected));
    const stats = alarms.flatMap(({ Metrics }) => (Metrics ?? []) as { MetricStat?: { Metric: Metric; Stat: string } }[]);
    const measured = stats.flatMap(({ MetricStat }) => (MetricStat ? [`${MetricStat.Metric.MetricName} ${MetricStat.Stat}`] : []));
    expect(new Set(measured)).toEqual(
      new Set(['Throttles Sum', 'AsyncEventAge Maximum', 'ReadThrottleEvents Sum', 'WriteThrottleEvents Sum']),
    );
  });

  it('look at ten metrics at most, as CloudWatch takes them', () => {
    const counts = alarms.map(({ Metrics }) => ((Metrics ?? []) as object[]).filter((one) => 'MetricStat' in one).length);
    expect(Math.max(...counts)).toBeLessThanOrEqual(10);
  });

  it('the limit of a day’s spending is a setting', () => {
    expect(alarms.find(({ AlarmName }) => AlarmName === 'cpt-spending')).toMatchObject({
      MetricName: 'DollarsSpent',
      Threshold: 250,
      Period: 86_400,
    });
  });
});

describe('our own metrics', () => {
  it('are on the dashboard, all of them, by the names that the Lambdas count them by', () => {
    const shown = new Set([...dashboard().matchAll(/"cpt","(\w+)"/g)].map(([, name]) => name));
    expect(shown).toEqual(new Set(ours()));
  });

  it('are asked for by alarms as the Lambdas write them: known names, one dimension', () => {
    const asked = (alarms as unknown as Metric[]).filter(({ Namespace }) => Namespace === 'cpt');
    expect(asked.length).toBeGreaterThan(4);
    for (const { MetricName, Dimensions } of asked) {
      expect(ours()).toContain(MetricName);
      expect(Dimensions).toEqual([{ Name: 'service', Value: 'control-plane' }]);
    }
  });
});

it('the dashboard shows every function and every queue', () => {
  const body = dashboard();
  for (const id of Object.keys(resources(control, 'AWS::Lambda::Function'))) expect(body).toContain(`<${id}>`);
  for (const id of Object.keys(resources(control, 'AWS::SQS::Queue'))) expect(body).toContain(`<${id}.QueueName>`);
});

describe('saved queries', () => {
  const queries = Object.values(resources(control, 'AWS::Logs::QueryDefinition'));

  it('are those of the runbook', () => {
    const named = [...RUNBOOK.matchAll(/^\| `(cpt\/[a-z]+)` \|/gm)].map(([, name]) => name);
    expect(new Set(queries.map(({ Name }) => Name))).toEqual(new Set(named));
  });

  it('read the logs of every function', () => {
    const groups = Object.keys(resources(control, 'AWS::Logs::LogGroup')).filter((id) => id.startsWith('Functions'));
    for (const { LogGroupNames } of queries)
      expect((LogGroupNames as unknown[]).map(text).sort()).toEqual(groups.map((id) => `<${id}>`).sort());
  });
});

describe('news of transfers', () => {
  it('go to a topic as the detail of their event, and to a queue where that fails', () => {
    const rules = Object.values(resources(control, 'AWS::Events::Rule'));
    const rule = rules.find(({ Name }) => Name === 'cpt-notify');
    expect(rule?.EventPattern).toMatchObject({ source: ['cpt.control'] });
    const contract = JSON.parse(readFileSync(path.join(ROOT, 'contracts', 'event.schema.json'), 'utf8')) as {
      $defs: Record<string, { properties: { type?: { const?: string } } }>;
    };
    const known = Object.values(contract.$defs).map(({ properties }) => properties.type?.const);
    expect(known).toEqual(expect.arrayContaining((rule?.EventPattern as Record<string, string[]>)['detail-type'] ?? []));
    expect(rule?.Targets).toMatchObject([{ InputPath: '$.detail', DeadLetterConfig: {} }]);
  });

  it('EventBridge may write to it, over TLS only', () => {
    control.hasResourceProperties('AWS::SNS::TopicPolicy', {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
          Match.objectLike({ Effect: 'Allow', Principal: { Service: 'events.amazonaws.com' } }),
        ]),
      },
    });
  });

  it('the addresses of the settings get them by mail', () => {
    const mailing = synthesize({ notificationMail: ['a@example.com'], alarmMail: ['b@example.com'] }).control;
    const subscriptions = Object.values(resources(mailing, 'AWS::SNS::Subscription'));
    expect(subscriptions.map(({ Endpoint, Protocol }) => [Endpoint, Protocol])).toEqual([
      ['a@example.com', 'email'],
      ['b@example.com', 'email'],
    ]);
  });
});

function source({ condition }: Statement): string {
  return text(condition.ArnLike?.['aws:SourceArn']);
}

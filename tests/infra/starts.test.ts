/** Starts of the settings are judged as those that people add: `contracts/starts.json` has cases that Python reads too. */

import { describe, expect, it } from 'vitest';
import contract from '../../contracts/starts.json';
import { ConfigurationError, readSettings } from '../../infra/lib/config';
import { resources, statements, synthesize, text } from './synthesis';

interface Case {
  readonly about: string;
  readonly start: object;
  readonly request?: object;
  readonly fill?: number;
  readonly refused?: string;
}

/** The whole start: with the ends that all have, and the filling. */
function filled({ start, request = {}, fill = 0 }: Case, source: object = contract.source): unknown {
  const { destination } = contract;
  const whole = { ...start, request: { source, destination, ...request } };
  return JSON.parse(JSON.stringify(whole).replaceAll('FILL', 'x'.repeat(fill)));
}

describe('schedules of the settings', () => {
  it.each(contract.schedules as Case[])('$about', (one) => {
    const read = (): unknown => readSettings({ ...contract.settings, starts: { schedules: { nightly: filled(one) } } });
    if (one.refused === undefined) {
      expect(read).not.toThrow();
    } else {
      expect(read).toThrow(ConfigurationError);
      expect(read).toThrow(`context key "cpt.starts.schedules.nightly.${one.refused}`);
    }
  });
});

describe('starts by objects of the settings', () => {
  it.each(contract.objects as Case[])('$about', (one) => {
    const read = (): unknown => readSettings({ ...contract.settings, starts: { objects: { daily: filled(one, contract.objectsSource) } } });
    if (one.refused === undefined) {
      expect(read).not.toThrow();
    } else {
      expect(read).toThrow(ConfigurationError);
      expect(read).toThrow(`context key "cpt.starts.objects.daily.${one.refused}`);
    }
  });
});

describe('the room for schedules that people add', () => {
  const { control } = synthesize();
  const role = Object.values(resources(control, 'AWS::IAM::Role')).find(({ RoleName }) => RoleName === 'cpt-starts-us-west-2');

  it('is a group that goes with the stack, and all that is in it', () => {
    const groups = Object.values(resources(control, 'AWS::Scheduler::ScheduleGroup'));
    expect(groups).toEqual([{ Name: 'cpt-starts', Tags: expect.anything() as unknown }]);
  });

  it('has a role that Scheduler gets for schedules of this group alone', () => {
    const [trust, ...others] = (role?.AssumeRolePolicyDocument as { Statement: { Condition: unknown; Principal: unknown }[] }).Statement;
    expect(others).toEqual([]);
    expect(trust?.Principal).toEqual({ Service: 'scheduler.amazonaws.com' });
    const { StringEquals } = trust?.Condition as { StringEquals: Record<string, unknown> };
    expect(Object.keys(StringEquals).sort()).toEqual(['aws:SourceAccount', 'aws:SourceArn']);
    expect(text(StringEquals['aws:SourceArn'])).toBe('arn:<AWS::Partition>:scheduler:us-west-2:<AWS::AccountId>:schedule-group/cpt-starts');
  });

  it('is not the only group whose role trusts Scheduler for itself: none is to be had for schedules elsewhere', () => {
    const request = { source: contract.source, destination: contract.destination };
    const buckets = [{ bucket: 'exports', region: 'us-west-2', read: true, starts: true }];
    const { control: all } = synthesize({ buckets, starts: { schedules: { nightly: { expression: 'rate(1 day)', request } } } });
    const trusted = Object.values(resources(all, 'AWS::IAM::Role'))
      .flatMap(({ AssumeRolePolicyDocument }) => (AssumeRolePolicyDocument as { Statement: { Principal: object; Condition?: { StringEquals: Record<string, unknown> } }[] }).Statement)
      .filter(({ Principal }) => JSON.stringify(Principal).includes('scheduler'))
      .map(({ Condition }) => text(Condition?.StringEquals['aws:SourceArn']).split('/')[1]);
    expect(trusted.sort()).toEqual(['cpt-starts', 'cpt-windows', 'default']);
    const groups = Object.values(resources(all, 'AWS::Scheduler::Schedule')).map(({ GroupName }) => GroupName);
    expect(groups).toEqual(['default']);
  });

  it('has a role that may invoke the one function that judges and starts', () => {
    const [policy, ...others] = role?.Policies as { PolicyDocument: unknown }[];
    expect(others).toEqual([]);
    const granted = statements(policy?.PolicyDocument).map(({ actions, resources: on }) => [actions, on.map(text)]);
    expect(granted).toEqual([
      [['lambda:InvokeFunction'], [expect.stringMatching(/StartFromSchedule.*\.Arn/)]],
      [['sqs:SendMessage'], [expect.stringMatching(/StartFromSchedule.*\.Arn/)]],
    ]);
  });
});

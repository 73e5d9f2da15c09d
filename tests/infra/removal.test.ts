import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { resources, synthesize, text } from './synthesis';

const NAMES = ['BucketName', 'TableName', 'LogGroupName'];

/** Physical names of what outlives its stack. */
function kept(...templates: Template[]): string[] {
  const found = templates.flatMap((template) => Object.values(template.toJSON().Resources as Record<string, Kept>));
  return found
    .filter(({ DeletionPolicy }) => DeletionPolicy !== undefined && DeletionPolicy !== 'Delete')
    .map(({ Properties }) => text(NAMES.map((name) => Properties[name]).find((name) => name !== undefined)));
}

interface Kept {
  readonly DeletionPolicy?: string;
  readonly Properties: Record<string, unknown>;
}

const DATA = ['cpt-control-<AWS::AccountId>-us-west-2', 'cpt-profiles', 'cpt-transfers'];

describe('of a deployment that is removed', () => {
  const all = (settings: Record<string, unknown>): string[] => {
    const { control, region } = synthesize(settings);
    return kept(control, region('us-west-2'), region('eu-west-1')).sort();
  };

  it('reports and measurements stay unless the settings say otherwise', () => {
    expect(all({})).toEqual(DATA);
  });

  it('nothing stays of a first deployment that fails: its name would refuse the next one', () => {
    const { control } = synthesize({ logsOnDestroy: 'retain' });
    const policies = Object.values(control.toJSON().Resources as Record<string, Kept>).map(({ DeletionPolicy }) => DeletionPolicy);
    expect(policies).toContain('RetainExceptOnCreate');
    expect(policies).not.toContain('Retain');
  });

  it('nothing stays where the settings give the data up', () => {
    expect(all({ dataOnDestroy: 'delete' })).toEqual([]);
  });

  it('the log of every function and of the state machine stays where the settings say so', () => {
    const { control, region } = synthesize({ dataOnDestroy: 'delete', logsOnDestroy: 'retain' });
    const templates = [control, region('us-west-2'), region('eu-west-1')];
    const functions = templates.flatMap((template) => Object.values(resources(template, 'AWS::Lambda::Function')));
    const logs = functions.map(({ FunctionName }) => `/aws/lambda/${text(FunctionName)}`);
    expect(functions.length).toBeGreaterThan(20);
    expect(kept(...templates).sort()).toEqual([...logs, ...['transfer', 'waves'].map((name) => `/aws/vendedlogs/states/cpt-${name}`)].sort());
  });
});

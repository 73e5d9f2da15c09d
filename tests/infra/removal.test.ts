import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { synthesize, text } from './synthesis';

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

  it('nothing stays where the settings give the data up', () => {
    expect(all({ dataOnDestroy: 'delete' })).toEqual([]);
  });

  it('the log of every function and of the state machine stays where the settings say so', () => {
    const logs = all({ dataOnDestroy: 'delete', logsOnDestroy: 'retain' });
    expect(logs).toHaveLength(31);
    expect(logs.filter((name) => !name.startsWith('/aws/lambda/cpt-'))).toEqual([
      '/aws/vendedlogs/states/cpt-transfer',
    ]);
  });
});

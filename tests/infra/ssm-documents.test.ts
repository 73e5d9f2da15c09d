import { readdirSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { documentContent, documentScript } from '../../infra/lib/constructs/relay-commands';
import { Document, DOCUMENTS, RegionDaemons } from '../../infra/lib/names';
import { PARTITION, REGION } from './ssm-machine';
import { ROOT } from './synthesis';

interface Content {
  readonly schemaVersion: string;
  readonly parameters: Record<string, { interpolationType: string; allowedPattern: string }>;
  readonly mainSteps: readonly { inputs: { runCommand: string[]; timeoutSeconds: string } }[];
}

const DAEMONS: RegionDaemons = { x86_64: { bucket: 'assets', key: 'key', sha256: 'a'.repeat(64) } };
const contentOf = (document: Document): Content =>
  documentContent(document, REGION, DAEMONS) as unknown as Content;

describe('documents', () => {
  it.each(DOCUMENTS)('cpt-%s takes its parameters as variables, each with a pattern', (document) => {
    const { schemaVersion, parameters } = contentOf(document);
    expect(schemaVersion).toBe('2.2');
    for (const parameter of Object.values(parameters)) {
      expect(parameter.interpolationType).toBe('ENV_VAR');
      expect(parameter.allowedPattern).toMatch(/^\^.*\$$/);
    }
  });

  it.each(DOCUMENTS)('cpt-%s has no {{ }} that the agent would replace', (document) => {
    expect(documentScript(document, REGION, DAEMONS)).not.toMatch(/\{\{/);
  });

  it('a caller names a transfer and a command, and no program', () => {
    for (const document of ['log', 'stop'] as const) expect(Object.keys(contentOf(document).parameters)).toEqual(['TransferId']);
    expect(Object.keys(contentOf('relay').parameters)).toEqual(['TransferId', 'Command', 'CpuQuota']);
    for (const document of ['receive', 'send'] as const) {
      expect(Object.keys(contentOf(document).parameters)).toEqual(['TransferId', 'Command', 'CpuWeight', 'IoWeight']);
    }
    for (const document of ['scan', 'delete', 'probe'] as const) {
      expect(Object.keys(contentOf(document).parameters)).toEqual(['TransferId', 'Command', 'Answer']);
    }
  });

  it.each(DOCUMENTS.filter((name) => !['log', 'stop'].includes(name)))('cpt-%s names its region’s daemon and digest', (document) => {
    const { runCommand } = contentOf(document).mainSteps[0]?.inputs ?? { runCommand: [] };
    expect(runCommand.slice(0, 5)).toEqual([
      "readonly daemon_region='eu-west-1'",
      "readonly daemon_uri_x86_64='s3://assets/key'",
      `readonly daemon_sha256_x86_64='${'a'.repeat(64)}'`,
      "readonly daemon_uri_arm64=''",
      "readonly daemon_sha256_arm64=''",
    ]);
  });

  it.each([
    ['TransferId', 'demo-1', '../etc'],
    ['TransferId', 'a', 'a;reboot'],
    ['Command', 'eyJhIjoxfQ', '$(reboot)'],
    ['Answer', `us-west-2 cpt-transfers ${PARTITION} 0123456789abcdef`, `us-west-2 cpt-transfers ${PARTITION} ../../etc/passwd0`],
    ['Answer', `us-west-2 cpt-transfers ${PARTITION} 0123456789abcdef`, `$(reboot) cpt-transfers ${PARTITION} 0123456789abcdef`],
    ['CpuQuota', '150%', '150'],
    ['CpuQuota', '', '0%'],
    ['CpuWeight', '1', '0'],
    ['CpuWeight', '10000', '10001'],
    ['IoWeight', '9999', '99999'],
    ['IoWeight', '', 'idle'],
  ])('%s accepts %s and refuses %s', (name, good, bad) => {
    const pattern = new RegExp({ ...contentOf('relay').parameters, ...contentOf('send').parameters, ...contentOf('scan').parameters }[name]?.allowedPattern ?? '');
    expect([pattern.test(good), pattern.test(bad)]).toEqual([true, false]);
  });

  it('no document holds one of the agent’s five workers for longer than a start takes', () => {
    for (const document of DOCUMENTS) {
      expect(Number(contentOf(document).mainSteps[0]?.inputs.timeoutSeconds), document).toBeLessThanOrEqual(90);
    }
  });

  it('no file is longer than 40 lines', () => {
    const folder = path.join(ROOT, 'infra', 'ssm-documents');
    for (const file of readdirSync(folder))
      expect(readFileSync(path.join(folder, file), 'utf8').split('\n').length, file).toBeLessThanOrEqual(41);
  });
});

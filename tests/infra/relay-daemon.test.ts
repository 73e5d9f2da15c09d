import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { afterAll, expect, it } from 'vitest';
import { builtArchitectures, RelayDaemon } from '../../infra/lib/constructs/relay-daemon';
import { ROOT, text } from './synthesis';

const scratch = path.join(ROOT, '.cache', 'synth');
mkdirSync(scratch, { recursive: true });
const outdir = mkdtempSync(path.join(scratch, 'daemon-'));
afterAll(() => {
  rmSync(outdir, { recursive: true, force: true });
});

const stack = (context: Record<string, unknown> = {}): Stack =>
  new Stack(new App({ context, outdir, analyticsReporting: false }), 'Stack', { env: { region: 'eu-west-1' } });

it('a daemon that is not built stops the synthesis and names the command that builds it', () => {
  expect(() => new RelayDaemon(stack(), 'Daemon', 'x86_64', 'no/such/cpt-relay')).toThrow(
    'no/such/cpt-relay is not built: run `make daemon` first',
  );
  expect(() => new RelayDaemon(stack(), 'Daemon', 'arm64', 'no/such/cpt-relay')).toThrow(
    'no/such/cpt-relay is not built: run `make daemon-arm64` first',
  );
});

it('the digest is that of the file, and the key is in the region’s own bucket', () => {
  const file = path.join('infra', 'assets', 'missing-daemon-x86_64');
  const region = stack();
  const { asset } = new RelayDaemon(region, 'Daemon', 'x86_64', file);
  expect(asset.sha256).toBe(
    createHash('sha256')
      .update(readFileSync(path.join(ROOT, file)))
      .digest('hex'),
  );
  expect(text(region.resolve(asset.bucket))).toBe('cdk-hnb659fds-assets-<AWS::AccountId>-eu-west-1');
  expect(asset.key).toMatch(/^[0-9a-f]{64}/);
});

it('tests of templates may do without a daemon, by context', () => {
  const { asset } = new RelayDaemon(stack({ 'cpt:allowMissingDaemon': 'true' }), 'Daemon', 'x86_64', 'no/such/cpt-relay');
  expect(asset.sha256).toMatch(/^[0-9a-f]{64}$/);
});

it('arm64 counts once its daemon lies where `make daemon-arm64` puts it', () => {
  expect(builtArchitectures(outdir)).toEqual(['x86_64']);
  mkdirSync(path.join(outdir, 'relay-ami', 'dist', 'arm64'), { recursive: true });
  writeFileSync(path.join(outdir, 'relay-ami', 'dist', 'arm64', 'cpt-relay'), '');
  expect(builtArchitectures(outdir)).toEqual(['x86_64', 'arm64']);
});

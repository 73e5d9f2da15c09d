import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import * as path from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { afterAll, expect, it } from 'vitest';
import { RelayDaemon } from '../../infra/lib/constructs/relay-daemon';
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
  expect(() => new RelayDaemon(stack(), 'Daemon', 'no/such/cpt-relay')).toThrow(
    'no/such/cpt-relay is not built: run `make daemon` first',
  );
});

it('the digest is that of the file, and the key is in the region’s own bucket', () => {
  const file = path.join('infra', 'assets', 'missing-daemon.txt');
  const region = stack();
  const { asset } = new RelayDaemon(region, 'Daemon', file);
  expect(asset.sha256).toBe(
    createHash('sha256')
      .update(readFileSync(path.join(ROOT, file)))
      .digest('hex'),
  );
  expect(text(region.resolve(asset.uri))).toMatch(/^s3:\/\/cdk-hnb659fds-assets-<AWS::AccountId>-eu-west-1\/[0-9a-f]{64}/);
});

it('tests of templates may do without a daemon, by context', () => {
  const { asset } = new RelayDaemon(stack({ 'cpt:allowMissingDaemon': 'true' }), 'Daemon', 'no/such/cpt-relay');
  expect(asset.sha256).toMatch(/^[0-9a-f]{64}$/);
});

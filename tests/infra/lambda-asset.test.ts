import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import * as path from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { afterAll, describe, expect, it } from 'vitest';
import { pythonCode, RUNTIME, SERVICES } from '../../infra/lib/constructs/python-code';
import { ROOT } from './synthesis';

const X86_64 = 62; // e_machine of ELF
const LAMBDA_LIMIT = 250 * 1024 * 1024; // unzipped, layers included

const scratch = path.join(ROOT, '.cache', 'synth');
mkdirSync(scratch, { recursive: true });
const outdirs: string[] = [];
afterAll(() => {
  for (const outdir of outdirs) rmSync(outdir, { recursive: true, force: true });
});

function bundle(sealing = false): string {
  const outdir = mkdtempSync(path.join(scratch, 'asset-'));
  outdirs.push(outdir);
  const umask = process.umask(0o077);
  const app = new App({ outdir, analyticsReporting: false });
  new lambda.Function(new Stack(app, 'Stack'), 'Any', {
    runtime: RUNTIME,
    handler: 'any.any',
    code: pythonCode({ sealing }),
  });
  app.synth();
  process.umask(umask);
  const folder = readdirSync(outdir).find(
    (name) => name.startsWith('asset.') && statSync(path.join(outdir, name)).isDirectory(),
  );
  return path.join(outdir, folder ?? 'no asset folder');
}

describe('the asset of the Lambdas', () => {
  const folder = bundle();
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    statSync(path.join(folder, file)).isFile(),
  );

  it('has the sources, the contracts and the locked packages, and not what the runtime has', () => {
    const top = new Set(readdirSync(folder));
    for (const name of ['lambdas', 'contracts', 'pydantic', 'aws_lambda_powertools', 'aws_xray_sdk', 'tzdata'])
      expect(top).toContain(name);
    for (const name of ['transfer-request.schema.json', 'failures.json']) expect(files).toContain(path.join('contracts', name));
    expect(files).toContain(path.join('tzdata', 'zoneinfo', 'Europe', 'Berlin'));
    expect(files.filter((file) => file.startsWith(path.join('contracts', 'examples')))).toEqual([]);
    expect(
      files
        .filter((file) => file.startsWith('lambdas') && !file.endsWith('.py') && !file.endsWith('requirements.txt'))
        .map((file) => path.relative(path.join('lambdas', 'core'), file))
        .sort(),
    ).toEqual([
      ...['map.html', 'pictures.html', 'report.css', 'report.html'].map((file) => path.join('report', 'page', 'templates', file)),
      ...['live.css', 'message.html', 'overview.html', 'parts.html', 'transfer.html', 'waves.html'].map((file) => path.join('watch', 'templates', file)),
    ]);
  });

  it('has the locked requirements, so that its hash is another one when a package is', () => {
    expect(files).toContain(path.join('lambdas', 'requirements.txt'));
  });

  it('has what sealing takes for those functions alone that seal, and nothing else differs', () => {
    const without = (text: string): boolean => !/^(cryptography|cffi|_cffi_backend|pycparser)([-.]|$)/.test(text);
    const all = readdirSync(bundle(true));
    expect(all).toEqual(expect.arrayContaining(['cryptography', 'cffi', 'pycparser']));
    expect(all.some((name) => name.startsWith('_cffi_backend.'))).toBe(true);
    expect(readdirSync(folder).filter((name) => !without(name))).toEqual([]);
    expect(all.filter(without).sort()).toEqual(readdirSync(folder).sort());
  });

  it('can be read by the user as whom functions run, whatever the umask of the synthesis', () => {
    const all = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => path.join(folder, file));
    const hidden = [folder, ...all].filter((file) => {
      const status = statSync(file);
      const needed = status.isDirectory() ? 0o555 : 0o444;
      return (status.mode & needed) !== needed;
    });
    expect(hidden).toEqual([]);
  });

  it('has native code for x86-64 only', () => {
    const libraries = files.filter((file) => file.endsWith('.so'));
    expect(libraries.length).toBeGreaterThan(0);
    for (const file of libraries) {
      const head = readFileSync(path.join(folder, file)).subarray(0, 20);
      expect(head.subarray(1, 4).toString(), file).toBe('ELF');
      expect(head.readUInt16LE(18), file).toBe(X86_64);
      expect(file).toMatch(new RegExp(`cpython-${RUNTIME.name.replace(/\D/g, '')}-|abi3`));
    }
  });

  it('has nothing that differs between two machines that bundle it', () => {
    expect(files.filter((file) => file.startsWith('bin/') || path.basename(file) === 'RECORD')).toEqual([]);
    for (const file of files) expect(readFileSync(path.join(folder, file)).includes(`${ROOT}/`), file).toBe(false);
  });

  it('fits into Lambda', () => {
    expect(files.reduce((sum, file) => sum + statSync(path.join(folder, file)).size, 0)).toBeLessThan(LAMBDA_LIMIT);
  });

  it('has boto3 as the tests have it, and of botocore what the functions call', () => {
    const locked = readFileSync(path.join(ROOT, 'uv.lock'), 'utf8');
    for (const name of ['boto3', 'botocore']) {
      const version = new RegExp(`name = "${name}"\\nversion = "([\\d.]+)"`).exec(locked)?.[1] ?? 'none';
      expect(readdirSync(folder)).toContain(`${name}-${version}.dist-info`);
    }
    const data = readdirSync(path.join(folder, 'botocore', 'data'), { withFileTypes: true });
    expect(data.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort()).toEqual([...SERVICES].sort());
    expect(data.map(({ name }) => name)).toEqual(expect.arrayContaining(['endpoints.json', 'partitions.json']));
  });

  it('describes every service that a client is made for', () => {
    const clients = readFileSync(path.join(ROOT, 'lambdas', 'adapters', 'clients.py'), 'utf8');
    const called = [...clients.matchAll(/_lazy\(\s*"([a-z0-9-]+)"/g)].map(([, name]) => name);
    expect(called.length).toBeGreaterThan(9);
    expect(SERVICES).toEqual(expect.arrayContaining([...new Set(called)]));
  });
});

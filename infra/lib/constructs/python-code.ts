/** The one asset of all Lambdas: package `lambdas`, contracts and locked dependencies, bundled without Docker. */

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import * as path from 'node:path';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { UserError } from '../errors';

/** The checkout. */
export const ROOT = path.resolve(__dirname, '..', '..', '..');

/** What runs the asset: its wheels are for these, and the local cloud runs it by this Python where a machine has it. */
export const RUNTIME = lambda.Runtime.PYTHON_3_13;
export const ARCHITECTURE = lambda.Architecture.X86_64;

/** Services that functions call. botocore describes four hundred, in 27 MB that each cold start would fetch. */
export const SERVICES = [
  'dynamodb',
  'ec2',
  'events',
  'iam',
  'pricing',
  's3',
  'service-quotas',
  'sns',
  'ssm',
  'stepfunctions',
  'sts',
];
const PLATFORM = [
  '--python-platform',
  `${ARCHITECTURE.name}-manylinux2014`,
  '--python-version',
  RUNTIME.name.replace('python', ''),
  '--only-binary',
  ':all:',
  '--no-deps',
];
// Folder with what the report's page is made from.
const TEMPLATES = 'templates';
/** The packages that functions bring along, exported from uv.lock. */
export const REQUIREMENTS = path.join(ROOT, 'lambdas', 'requirements.txt');

/** Code of every function; its hash covers the sources, the locked requirements and how they are installed. */
export function pythonCode(): lambda.Code {
  if (!existsSync(REQUIREMENTS)) {
    throw new UserError(
      'lambdas/requirements.txt is missing: run `make lambdas/requirements.txt`, which exports it from uv.lock',
    );
  }
  const sources = ['lambdas', 'contracts'].flatMap((folder) => sourceFiles(folder));
  const hash = createHash('sha256').update(JSON.stringify([PLATFORM, SERVICES]));
  for (const file of sources)
    hash
      .update(`${file}\0`)
      .update(readFileSync(path.join(ROOT, file)))
      .update('\0');
  return lambda.Code.fromAsset(path.join(ROOT, 'lambdas'), {
    assetHashType: AssetHashType.CUSTOM,
    assetHash: hash.digest('hex'),
    bundling: {
      // Never run: `tryBundle` below either succeeds or throws what is missing.
      image: DockerImage.fromRegistry('docker-is-not-used'),
      local: {
        tryBundle(output: string): boolean {
          cpSync(installedDependencies(), output, { recursive: true });
          for (const file of sources) cpSync(path.join(ROOT, file), path.join(output, file));
          readableByAll(output);
          return true;
        },
      },
    },
  });
}

/** A function runs as another user than the owner of its files, and the archive keeps their modes: a umask must not count. */
function readableByAll(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const inside = path.join(folder, entry.name);
    if (entry.isDirectory()) readableByAll(inside);
    else if (entry.isFile()) chmodSync(inside, 0o644);
  }
}

/** Files of the asset under a folder of the checkout, sorted, relative to the checkout. */
function sourceFiles(folder: string): string[] {
  return readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => path.join(folder, file))
    .filter(
      (file) =>
        file.endsWith('.py') ||
        (path.dirname(file) === 'contracts' && file.endsWith('.json')) ||
        path.basename(path.dirname(file)) === TEMPLATES ||
        file === path.relative(ROOT, REQUIREMENTS),
    )
    .sort();
}

/** The folder with the locked dependencies, installed once per content of the requirements. */
function installedDependencies(): string {
  const requirements = readFileSync(REQUIREMENTS, 'utf8');
  const key = createHash('sha256')
    .update(JSON.stringify([PLATFORM, SERVICES, requirements]))
    .digest('hex')
    .slice(0, 16);
  const target = path.join(ROOT, '.cache', 'lambda-dependencies', key);
  if (existsSync(target)) return target;
  // Renamed when whole, so that a synth that is killed here leaves no half folder under the final name.
  const partial = `${target}.${process.pid}`;
  mkdirSync(partial, { recursive: true });
  const local = path.join(ROOT, '.tools', 'bin', 'uv');
  const uv = existsSync(local) ? local : 'uv';
  const run = spawnSync(
    uv,
    ['pip', 'install', '--quiet', '--require-hashes', ...PLATFORM, '--target', partial, '-r', '-'],
    {
      input: requirements,
      encoding: 'utf8',
    },
  );
  if (run.status !== 0) {
    rmSync(partial, { recursive: true, force: true });
    throw new UserError(
      'uv could not install lambdas/requirements.txt (run `make setup` if uv is missing): ' +
        (run.error?.message ?? run.stderr),
    );
  }
  keepServices(path.join(partial, 'botocore', 'data'));
  renameSync(partial, target);
  return target;
}

/** Removes what botocore knows of services that no function calls; its files beside the services' folders stay. */
function keepServices(data: string): void {
  for (const entry of readdirSync(data, { withFileTypes: true })) {
    if (entry.isDirectory() && !SERVICES.includes(entry.name)) rmSync(path.join(data, entry.name), { recursive: true });
  }
}

/** The asset of all Lambdas, and that of those that seal: package `lambdas`, contracts and locked dependencies, bundled without Docker. */

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
  'efs',
  'emr',
  'events',
  'fsx',
  'iam',
  'pricing',
  's3',
  'service-quotas',
  'sns',
  'ssm',
  'scheduler',
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
// Scripts begin with the path of the Python that installed them, and a package's record has the digests of its scripts.
const OF_ONE_MACHINE = { folders: ['bin'], records: ['RECORD', 'INSTALLER', 'REQUESTED'] };
// Folder with what the report's page is made from.
const TEMPLATES = 'templates';
/** The packages that functions bring along, exported from uv.lock. */
export const REQUIREMENTS = path.join(ROOT, 'lambdas', 'requirements.txt');

/** What sealing takes, by beginnings of names: a third of all packages' bytes, which no other function needs. */
const SEALING_PACKAGES = ['cryptography', 'cffi', '_cffi_backend', 'pycparser'];

/**
 * Code of every function, or of those that seal; its hash covers the sources, the locked requirements and how they are installed.
 */
export function pythonCode({ sealing = false } = {}): lambda.Code {
  if (!existsSync(REQUIREMENTS)) {
    throw new UserError(
      'lambdas/requirements.txt is missing: run `make lambdas/requirements.txt`, which exports it from uv.lock',
    );
  }
  const sources = ['lambdas', 'contracts'].flatMap((folder) => sourceFiles(folder));
  const hash = createHash('sha256').update(JSON.stringify([PLATFORM, SERVICES, sealing || SEALING_PACKAGES]));
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
          const found = installedDependencies();
          for (const name of readdirSync(found).filter((name) => sealing || !isForSealing(name))) {
            cpSync(path.join(found, name), path.join(output, name), { recursive: true });
          }
          for (const file of sources) cpSync(path.join(ROOT, file), path.join(output, file));
          readableByAll(output);
          return true;
        },
      },
    },
  });
}

function isForSealing(name: string): boolean {
  return SEALING_PACKAGES.some((one) => name === one || name.startsWith(`${one}-`) || name.startsWith(`${one}.`));
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

/** Where the locked dependencies are installed, once per content of the requirements. */
export function dependenciesFolder(): string {
  const key = createHash('sha256')
    .update(JSON.stringify([PLATFORM, SERVICES, OF_ONE_MACHINE, readFileSync(REQUIREMENTS, 'utf8')]))
    .digest('hex')
    .slice(0, 16);
  return path.join(ROOT, '.cache', 'lambda-dependencies', key);
}

/** The folder with the locked dependencies. */
function installedDependencies(): string {
  const requirements = readFileSync(REQUIREMENTS, 'utf8');
  const target = dependenciesFolder();
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
  withoutThisMachine(partial);
  renameSync(partial, target);
  return target;
}

/** Removes what no function reads and what differs between machines: the same packages are the same bytes everywhere. */
function withoutThisMachine(folder: string): void {
  for (const entry of OF_ONE_MACHINE.folders) rmSync(path.join(folder, entry), { recursive: true, force: true });
  for (const info of readdirSync(folder).filter((name) => name.endsWith('.dist-info'))) {
    for (const file of OF_ONE_MACHINE.records) rmSync(path.join(folder, info, file), { force: true });
  }
}

/** Removes what botocore knows of services that no function calls; its files beside the services' folders stay. */
function keepServices(data: string): void {
  for (const entry of readdirSync(data, { withFileTypes: true })) {
    if (entry.isDirectory() && !SERVICES.includes(entry.name)) rmSync(path.join(data, entry.name), { recursive: true });
  }
}

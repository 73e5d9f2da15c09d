/**
 * Refuses to deploy what was built from other sources than those of this checkout.
 *
 * `make` builds it anew by the time of files. The CDK's own commands know nothing of that: after `git pull`, `npx cdk deploy` would put
 * the functions of one version beside the daemon of another.
 */

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import { builtArchitectures, daemonPath } from './constructs/relay-daemon';
import { REQUIREMENTS, ROOT } from './constructs/python-code';
import { UserError } from './errors';

const REMEDY = 'run `make synth`, which builds it anew';
// A line of sha256sum; the asterisk is of files that were read as bytes.
const LINE = /^([0-9a-f]{64}) [ *](.+)$/;

/** Throws UserError if a daemon or the list of Python packages is older than its sources. What is not built at all is refused elsewhere. */
export function refuseOldParts(root = ROOT): void {
  const daemons = builtArchitectures(root).map(daemonPath);
  for (const part of [...daemons, path.relative(ROOT, REQUIREMENTS)]) {
    if (existsSync(path.join(root, part))) refuseOld(root, part);
  }
}

/** Compares contents, as the Makefile recorded them beside `part`: a checkout by git gives no file its own time back. */
function refuseOld(root: string, part: string): void {
  const record = path.join(root, `${part}.sources`);
  if (!existsSync(record)) {
    throw new UserError(`${part}.sources is missing, which says what ${part} was built from: ${REMEDY}`);
  }
  const lines = readFileSync(record, 'utf8').split('\n').filter(Boolean);
  if (lines.length === 0) throw new UserError(`${part}.sources names no file: ${REMEDY}`);
  for (const line of lines) {
    const [, digest, file] = LINE.exec(line) ?? [];
    if (digest === undefined || file === undefined) {
      throw new UserError(`${part}.sources has a line that is not of sha256sum: ${REMEDY}`);
    }
    if (digest !== digestOf(path.join(root, file))) {
      throw new UserError(`${part} is older than ${file}, from which it is built: ${REMEDY}`);
    }
  }
}

function digestOf(file: string): string | undefined {
  return existsSync(file) ? createHash('sha256').update(readFileSync(file)).digest('hex') : undefined;
}

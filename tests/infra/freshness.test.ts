import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { refuseOldParts } from '../../infra/lib/freshness';
import { ROOT } from './synthesis';

const scratch = path.join(ROOT, '.cache', 'synth');
mkdirSync(scratch, { recursive: true });
const root = mkdtempSync(path.join(scratch, 'freshness-'));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

function write(file: string, content: string): void {
  mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
  writeFileSync(path.join(root, file), content);
}

function record(part: string, sources: string[]): void {
  const digest = (file: string): string =>
    createHash('sha256')
      .update(readFileSync(path.join(root, file)))
      .digest('hex');
  write(`${part}.sources`, sources.map((file) => `${digest(file)}  ${file}\n`).join(''));
}

const DAEMON = 'relay-ami/dist/x86_64/cpt-relay';
const ARM = 'relay-ami/dist/arm64/cpt-relay';
const SOURCE = 'relay-ami/relay/src/a name/main.rs';
const PARTS = [
  [DAEMON, SOURCE],
  [ARM, SOURCE],
  ['lambdas/requirements.txt', 'uv.lock'],
] as const;

describe('what is older than its sources is not deployed', () => {
  beforeEach(() => {
    write(SOURCE, 'fn main() {}');
    write('uv.lock', 'one = 1');
    for (const [part, source] of PARTS) {
      write(part, 'built');
      record(part, [source]);
    }
  });

  it('what was built from the sources that are here is', () => {
    expect(() => {
      refuseOldParts(root);
    }).not.toThrow();
  });

  it.each(PARTS)('%s is refused by name and remedy when %s changes', (part, source) => {
    // That the daemon for x86-64 is in order does not help the one for arm64.
    const others = PARTS.filter(([other]) => other !== part);
    write(source, 'another content');
    for (const [other, itsSource] of others) record(other, [itsSource]);
    expect(() => {
      refuseOldParts(root);
    }).toThrow(`${part} is older than ${source}, from which it is built: run \`make synth\``);
  });

  it('a source that is gone counts as changed', () => {
    rmSync(path.join(root, SOURCE));
    expect(() => {
      refuseOldParts(root);
    }).toThrow(`${DAEMON} is older than ${SOURCE}`);
  });

  it.each([
    ['', 'names no file'],
    ['built today', 'not of sha256sum'],
  ])('a record %j vouches for nothing', (content, why) => {
    write(`${DAEMON}.sources`, content);
    expect(() => {
      refuseOldParts(root);
    }).toThrow(why);
  });

  it('a part without a record is refused, one that is not built is left to who needs it', () => {
    rmSync(path.join(root, `${DAEMON}.sources`));
    expect(() => {
      refuseOldParts(root);
    }).toThrow(`${DAEMON}.sources is missing`);
    for (const [part] of PARTS) rmSync(path.join(root, part));
    expect(() => {
      refuseOldParts(root);
    }).not.toThrow();
  });
});

it('the Makefile has recorded every source of this checkout’s daemon and packages', () => {
  const named = (part: string): string => readFileSync(path.join(ROOT, `${part}.sources`), 'utf8');
  const relay = path.join(ROOT, 'relay-ami', 'relay');
  const [, members = ''] = /^members = \[(.*)\]$/m.exec(readFileSync(path.join(relay, 'Cargo.toml'), 'utf8')) ?? [];
  const crates = [...members.matchAll(/"([a-z-]+)"/g)].flatMap(([, member]) => (member === undefined || member === 'fuzz' ? [] : [member]));
  expect(crates).toContain('ends');
  for (const file of ['src/lib.rs', 'command-line/src/main.rs', 'Cargo.lock', '.cargo/config.toml', 'rustc-static'].concat(
    crates.flatMap((crate) => [`${crate}/Cargo.toml`, `${crate}/src/lib.rs`]),
  ))
    expect(named(DAEMON)).toContain(`  relay-ami/relay/${file}\n`);
  expect(named('lambdas/requirements.txt')).toMatch(/ {2}uv\.lock\n.* {2}pyproject\.toml\n/);
  expect(() => {
    refuseOldParts();
  }).not.toThrow();
});

it('each synthesis looks', () => {
  const app = readFileSync(path.join(ROOT, 'infra', 'bin', 'app.ts'), 'utf8');
  expect(app.indexOf('refuseOldParts();')).toBeGreaterThan(-1);
  expect(app.indexOf('refuseOldParts();')).toBeLessThan(app.indexOf('addDeployment(app'));
});

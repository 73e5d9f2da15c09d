/** A machine on which the scripts of SSM documents run: the tools that they call are stand-ins, and write down what they were asked. */

import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { afterEach, beforeEach, vi } from 'vitest';
import { documentScript } from '../../infra/lib/constructs/relay-commands';
import { Document, RegionDaemons } from '../../infra/lib/names';
import { ROOT } from './synthesis';

export interface Begun {
  readonly answer: Promise<unknown[]>;
  readonly hasEnded: () => boolean;
}

/** Answers of units in these tests. */
export const PARTITION =
  'arn:aws:ec2:us-west-2:000000000000:instance/i-0aaaaaaaaaaaaaaa1+arn:aws:ec2:eu-west-1:000000000000:instance/i-0bbbbbbbbbbbbbbb2+demo';
export const ANSWER = `us-west-2 cpt-transfers ${PARTITION} 0123456789abcdef`;
export const REGION = 'eu-west-1';
// Stands in for cpt-relay: records how it was called, becomes ready when its command says so.
const DAEMON = `#!/bin/sh
if [ "$1" = await-ready ]; then [ -s "$2" ] && cat "$2" && exit 0; exit 1; fi
if [ "$1" = make-destination ]; then echo '"/made here"'; exit 0; fi
if [ "$1" = answer ]; then echo "called answer"; exit 0; fi
if [ "$4" = --ready ] && grep -q ready "$3"; then echo '{"role":"'"$1"'"}' >"$5"; fi
echo "called $1"; cat "$3"
`;
export const SHA = createHash('sha256').update(DAEMON).digest('hex');
/** Its directory, whose path has a space. */
export let home: string;

/** Each test of the suite that calls this has a machine of its own. */
export function hasMachine(): void {
  beforeEach(() => {
    mkdirSync(path.join(ROOT, '.cache'), { recursive: true });
    home = mkdtempSync(path.join(ROOT, '.cache', 'with space '));
    mkdirSync(path.join(home, 'bin'));
    writeFileSync(path.join(home, 'daemon'), DAEMON);
    tool('aws', 'echo "$@" >>"$CPT_HOME/aws.log"; for last in "$@"; do :; done; cp "$CPT_HOME/daemon" "$last"');
    // Units of the stand-ins are files; they run in the foreground, so that a test never waits.
    tool(
      'systemctl',
      `unit="$2"; [ "$1" = stop ] || unit="$3"; unit="$CPT_HOME/unit-\${unit%.service}"
       case "$1" in
         --version) cat "$CPT_HOME/systemd" 2>/dev/null || echo "systemd 252 (252.4-1)" ;;
         is-active) test -e "$unit" ;;
         --no-block) echo "$3" >>"$CPT_HOME/not-waited-for" ;;
         stop) test -e "$unit" || exit 5; rm "$unit"; echo "$unit" >>"$CPT_HOME/stopped" ;;
       esac`,
    );
    tool(
      'systemd-run',
      `for a in "$@"; do case "$a" in --unit=*) touch "$CPT_HOME/unit-\${a#--unit=}";; esac; done
       while [ "\${1#--}" != "$1" ]; do echo "$1" >>"$CPT_HOME/options"; shift; done; echo start >>"$CPT_HOME/started"
       echo "$*" >>"$CPT_HOME/arguments"; "$@"`,
    );
    tool('journalctl', 'echo "the log says why"');
    tool('uname', 'echo x86_64');
  });
  afterEach(() => {
    rmSync(home, { recursive: true, force: true });
  });
}

export function tool(name: string, body: string): void {
  const file = path.join(home, 'bin', name);
  writeFileSync(file, `#!/bin/sh\n${body}\n`);
  chmodSync(file, 0o755);
}

const daemons: RegionDaemons = { x86_64: { bucket: 'assets', key: 'key', sha256: SHA } };
const environment = (command: string, variables: Record<string, string> = {}): Record<string, string> => ({
  PATH: `${path.join(home, 'bin')}:${process.env.PATH ?? ''}`,
  CPT_HOME: home,
  CPT_PRIVATE: path.join(home, 'private'),
  SSM_TransferId: 'demo',
  AWS_SSM_INSTANCE_ID: 'i-0123456789abcdef0',
  SSM_Command: Buffer.from(command).toString('base64url'),
  SSM_Answer: ANSWER,
  ...variables,
});

export function run(
  document: Document,
  command: string,
  variables: Record<string, string> = {},
  deployed = daemons,
): { status: number | null; stdout: string; stderr: string } {
  return spawnSync('sh', ['-c', documentScript(document, REGION, deployed)], {
    encoding: 'utf8',
    env: environment(command, variables),
  });
}

/** Begins and does not wait; `answer` is its exit status and its output. */
export function begin(document: Document, command: string): Begun {
  const child = spawn('sh', ['-c', documentScript(document, REGION, daemons)], { env: environment(command) });
  let stdout = '';
  child.stdout.on('data', (text: Buffer) => (stdout += text.toString()));
  const answer = new Promise<unknown[]>((resolve) => {
    child.on('close', (status) => {
      resolve([status, stdout]);
    });
  });
  return { answer, hasEnded: () => child.exitCode !== null };
}

/** As long as a test may take: a script's start takes seconds where others build. */
const LONGEST_MS = 110_000;

/** A start of the relay that a tool holds until there is `go`; and what begins beside it, until that waits or has ended. */
export async function beginWhileHeld(document: Document, command: string): Promise<[Begun, Begun]> {
  tool('flock', `echo asked >>"$CPT_HOME/locking"; exec $(PATH=/usr/bin:/bin; command -v flock) "$@"`);
  const held = begin('relay', '{"be":"ready"}');
  await vi.waitUntil(() => existsSync(path.join(home, 'held')), LONGEST_MS);
  const beside = begin(document, command);
  await vi.waitUntil(() => beside.hasEnded() || lines('locking').length === 2, LONGEST_MS);
  writeFileSync(path.join(home, 'go'), '');
  return [held, beside];
}
export const lines = (file: string): string[] =>
  existsSync(path.join(home, file)) ? readFileSync(path.join(home, file), 'utf8').trim().split('\n') : [];

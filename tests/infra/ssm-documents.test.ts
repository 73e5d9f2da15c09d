import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import * as path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { documentContent, documentScript } from '../../infra/lib/constructs/relay-commands';
import { Document, DOCUMENTS, RegionDaemons } from '../../infra/lib/names';
import { ROOT } from './synthesis';

interface Content {
  readonly schemaVersion: string;
  readonly parameters: Record<string, { interpolationType: string; allowedPattern: string }>;
  readonly mainSteps: readonly { inputs: { runCommand: string[]; timeoutSeconds: string } }[];
}

interface Begun {
  readonly answer: Promise<unknown[]>;
  readonly hasEnded: () => boolean;
}

const REGION = 'eu-west-1';
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
    expect(Object.keys(contentOf('stop').parameters)).toEqual(['TransferId']);
    expect(Object.keys(contentOf('relay').parameters)).toEqual(['TransferId', 'Command', 'CpuQuota']);
    for (const document of ['receive', 'send'] as const) {
      expect(Object.keys(contentOf(document).parameters)).toEqual(['TransferId', 'Command', 'CpuWeight', 'IoWeight']);
    }
    for (const document of ['scan', 'delete', 'probe'] as const) {
      expect(Object.keys(contentOf(document).parameters)).toEqual(['TransferId', 'Command']);
    }
  });

  it.each(DOCUMENTS.filter((name) => name !== 'stop'))('cpt-%s names its region’s daemon and digest', (document) => {
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
    ['CpuQuota', '150%', '150'],
    ['CpuQuota', '', '0%'],
    ['CpuWeight', '1', '0'],
    ['CpuWeight', '10000', '10001'],
    ['IoWeight', '9999', '99999'],
    ['IoWeight', '', 'idle'],
  ])('%s accepts %s and refuses %s', (name, good, bad) => {
    const pattern = new RegExp({ ...contentOf('relay').parameters, ...contentOf('send').parameters }[name]?.allowedPattern ?? '');
    expect([pattern.test(good), pattern.test(bad)]).toEqual([true, false]);
  });

  it('no file is longer than 40 lines', () => {
    const folder = path.join(ROOT, 'infra', 'ssm-documents');
    for (const file of readdirSync(folder))
      expect(readFileSync(path.join(folder, file), 'utf8').split('\n').length, file).toBeLessThanOrEqual(41);
  });
});

describe('scripts, run by sh', () => {
  // Stands in for cpt-relay: records how it was called, becomes ready when its command says so.
  const DAEMON = `#!/bin/sh
if [ "$1" = await-ready ]; then [ -s "$2" ] && cat "$2" && exit 0; exit 1; fi
if [ "$1" = make-destination ]; then echo '"/made here"'; exit 0; fi
if [ "$4" = --ready ] && grep -q ready "$3"; then echo '{"role":"'"$1"'"}' >"$5"; fi
echo "called $1"; cat "$3"
`;
  const SHA = createHash('sha256').update(DAEMON).digest('hex');
  let home: string;

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
         stop) test -e "$unit" || exit 5; rm "$unit"; echo "$unit" >>"$CPT_HOME/stopped" ;;
       esac`,
    );
    tool(
      'systemd-run',
      `for a in "$@"; do case "$a" in --unit=*) touch "$CPT_HOME/unit-\${a#--unit=}";; esac; done
       while [ "\${1#--}" != "$1" ]; do echo "$1" >>"$CPT_HOME/options"; shift; done; echo start >>"$CPT_HOME/started"; "$@"`,
    );
    tool('journalctl', 'echo "the log says why"');
    tool('uname', 'echo x86_64');
  });
  afterEach(() => {
    rmSync(home, { recursive: true, force: true });
  });

  function tool(name: string, body: string): void {
    const file = path.join(home, 'bin', name);
    writeFileSync(file, `#!/bin/sh\n${body}\n`);
    chmodSync(file, 0o755);
  }

  const daemons: RegionDaemons = { x86_64: { bucket: 'assets', key: 'key', sha256: SHA } };
  const environment = (command: string, variables: Record<string, string> = {}): Record<string, string> => ({
    PATH: `${path.join(home, 'bin')}:${process.env.PATH ?? ''}`,
    CPT_HOME: home,
    SSM_TransferId: 'demo',
    AWS_SSM_INSTANCE_ID: 'i-0123456789abcdef0',
    SSM_Command: Buffer.from(command).toString('base64url'),
    ...variables,
  });

  function run(
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
  function begin(document: Document, command: string): Begun {
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

  /** A start of the relay that a tool holds until there is `go`; and what begins beside it, until that waits or has ended. */
  async function beginWhileHeld(document: Document, command: string): Promise<[Begun, Begun]> {
    tool('flock', `echo asked >>"$CPT_HOME/locking"; exec $(PATH=/usr/bin:/bin; command -v flock) "$@"`);
    const held = begin('relay', '{"be":"ready"}');
    await vi.waitUntil(() => existsSync(path.join(home, 'held')), 30_000);
    const beside = begin(document, command);
    await vi.waitUntil(() => beside.hasEnded() || lines('locking').length === 2, 30_000);
    writeFileSync(path.join(home, 'go'), '');
    return [held, beside];
  }
  const lines = (file: string): string[] =>
    existsSync(path.join(home, file)) ? readFileSync(path.join(home, file), 'utf8').trim().split('\n') : [];

  it('a foreground document runs the daemon with the decoded command and leaves no file of it', () => {
    const { status, stdout } = run('scan', '{"paths":["/ä ?>"]}');
    expect([status, stdout]).toEqual([0, 'called scan\n{"paths":["/ä ?>"]}']);
    expect(readdirSync(path.join(home, 'run', 'demo'))).toEqual([]);
  });

  it('the daemon is fetched once, from its region, and kept under its digest', () => {
    run('scan', '{}');
    run('probe', '{}');
    expect(lines('aws.log')).toHaveLength(1);
    expect(lines('aws.log')[0]).toContain('--region eu-west-1 s3://assets/key');
    expect(readdirSync(path.join(home, 'bin'))).toContain(`cpt-relay-${SHA}`);
  });

  it('a daemon with another digest is refused and not kept', () => {
    const other = 'b'.repeat(64);
    const { status, stderr } = run('scan', '{}', {}, { x86_64: { bucket: 'assets', key: 'key', sha256: other } });
    expect(status).not.toBe(0);
    expect(stderr).toContain(`cpt: s3://assets/key does not hash to ${other}`);
    expect(readdirSync(path.join(home, 'bin')).filter((file) => /download|cpt-relay/.test(file))).toEqual([]);
  });

  it('variables of a caller change neither where the daemon comes from nor its digest', () => {
    const foreign = { uri_x86_64: 's3://foreign/key', sha256_x86_64: 'b'.repeat(64), region: 'us-east-1' };
    const given = Object.entries(foreign).flatMap(([name, value]) => [
      [`SSM_daemon_${name}`, value],
      [`daemon_${name}`, value],
    ]);
    expect(run('scan', '{}', Object.fromEntries(given) as Record<string, string>).status).toBe(0);
    expect(lines('aws.log')).toEqual([expect.stringContaining('--region eu-west-1 s3://assets/key')]);
  });

  it('a daemon that cannot be read names the policy to attach', () => {
    tool('aws', 'echo "An error occurred (403)" >&2; exit 1');
    const { status, stderr } = run('scan', '{}');
    expect(status).not.toBe(0);
    expect(stderr).toContain('attach the managed policy cpt-endpoint');
  });

  it('a machine with an Arm processor takes the daemon for it', () => {
    tool('uname', 'echo aarch64');
    const both: RegionDaemons = {
      x86_64: { bucket: 'assets', key: 'key', sha256: 'b'.repeat(64) },
      arm64: { bucket: 'assets', key: 'arm', sha256: SHA },
    };
    expect(run('scan', '{}', {}, both)).toMatchObject({ status: 0, stdout: 'called scan\n{}' });
    expect(lines('aws.log')).toEqual([expect.stringContaining(' s3://assets/arm ')]);
  });

  it.each([
    ['aarch64', 'no daemon for arm64 is deployed: run make daemon-arm64'],
    ['riscv64', 'there is no daemon for riscv64'],
  ])('a machine of %s without a daemon fetches none and says why', (machine, why) => {
    tool('uname', `echo ${machine}`);
    const { status, stderr } = run('scan', '{}');
    expect(status).not.toBe(0);
    expect(stderr).toContain(why);
    expect(lines('aws.log')).toEqual([]);
  });

  it('an agent that does not pass parameters as variables is told to be too old', () => {
    const { status, stderr } = run('scan', '{}', { SSM_TransferId: '' });
    expect(status).not.toBe(0);
    expect(stderr).toContain('SSM Agent 3.3.2746.0');
  });

  it.each(['receive', 'send', 'relay'] as const)('cpt-%s starts a unit and prints its ready file last', (role) => {
    const { status, stdout } = run(role, '{"be":"ready"}');
    expect([status, stdout]).toEqual([0, `{"role":"${role}"}\n`]);
    expect(existsSync(path.join(home, `unit-cpt-${role}-demo`))).toBe(true);
  });

  it('the same command sent twice starts one daemon and answers twice', () => {
    const answers = [run('send', '{"be":"ready"}'), run('send', '{"be":"ready"}')];
    expect(answers.map(({ stdout }) => stdout)).toEqual(['{"role":"send"}\n', '{"role":"send"}\n']);
    expect(lines('started')).toHaveLength(1);
  });

  it('the same command sent twice at one moment starts one daemon and answers twice', async () => {
    // The first is held before it puts its command in place, until the second has ended or waits for it.
    tool(
      'mv',
      `case "$*" in *relay.json*) if mkdir "$CPT_HOME/held" 2>/dev/null; then
         while [ ! -e "$CPT_HOME/go" ]; do sleep 0.01; done; fi;; esac; exec /bin/mv "$@"`,
    );
    const [first, second] = await beginWhileHeld('relay', '{"be":"ready"}');
    const answer = [0, '{"role":"relay"}\n'];
    expect(await Promise.all([first.answer, second.answer])).toEqual([answer, answer]);
    expect(lines('started')).toHaveLength(1);
  });

  it('a stop waits for a start that is under way, and nothing of that is left', async () => {
    // The start is held while it fetches the daemon.
    tool(
      'aws',
      `mkdir "$CPT_HOME/held"; while [ ! -e "$CPT_HOME/go" ]; do sleep 0.01; done
       for last in "$@"; do :; done; cp "$CPT_HOME/daemon" "$last"`,
    );
    const [start, stop] = await beginWhileHeld('stop', '');
    expect(await stop.answer).toEqual([0, '{"stopped":"demo"}\n']);
    await start.answer;
    expect(existsSync(path.join(home, 'unit-cpt-relay-demo'))).toBe(false);
    expect(existsSync(path.join(home, 'run', 'demo'))).toBe(false);
  });

  it('another command replaces the daemon of an earlier attempt', () => {
    run('send', '{"be":"ready","epoch":1}');
    run('send', '{"be":"ready","epoch":2}');
    expect(lines('started')).toHaveLength(2);
    expect(lines('stopped')).toHaveLength(1);
  });

  it.each([
    ['receive', ['ProtectSystem=strict', 'ReadWritePaths="/made here"', 'RuntimeMaxSec=8d', 'SystemCallFilter=@system-service']],
    ['send', ['ProtectSystem=strict', 'CapabilityBoundingSet=CAP_DAC_READ_SEARCH CAP_SETUID CAP_SETGID', 'MemoryMax=75%']],
    ['relay', ['ProtectHome=yes', 'PrivateTmp=yes', 'OOMScoreAdjust=-500', 'CPUQuota=50%', 'NoNewPrivileges=yes']],
  ] as const)('cpt-%s gives its unit the least, each property one that systemd knows', (role, some) => {
    run(role, '{"be":"ready"}', role === 'relay' ? { SSM_CpuQuota: '50%' } : {});
    const properties = lines('options').flatMap((line) => (line.startsWith('--property=') ? [line.slice(11)] : []));
    expect(properties).toEqual(expect.arrayContaining([...some]));
    expect(properties.filter((property) => property.startsWith('ReadWritePaths='))).toHaveLength(role === 'receive' ? 2 : 1);
    const known = readFileSync(path.join(ROOT, 'local', 'instances', 'bin', 'systemd-properties.txt'), 'utf8').split('\n');
    for (const property of properties) expect(known).toContain(property.split('=')[0]);
  });

  it.each([
    ['{"be":"ready"}', '', false],
    ['{"be":"ready","destination":"/\\"owners\\":\\"x","preserve":{"hardLinks":true,"xattrs":false}}', '', false],
    ['{"be":"ready","preserve":{"owners":"numeric"}}', ' CAP_CHOWN CAP_FSETID', true],
    ['{"be":"ready","preserve":{"owners":"names","xattrs":true,"specialFiles":true}}', ' CAP_CHOWN CAP_FSETID CAP_SETFCAP CAP_MKNOD', true],
    ['{"be":"ready","preserve":{"xattrs":true}}', ' CAP_SETFCAP', false],
  ] as const)('cpt-receive has a capability more only for what is asked to be kept: %s', (command, more, bits) => {
    run('receive', command);
    const least = 'CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER CAP_SETUID CAP_SETGID';
    expect(lines('options')).toContain(`--property=CapabilityBoundingSet=${least}${more}`);
    expect(lines('options').includes('--property=RestrictSUIDSGID=no')).toBe(bits);
  });

  it.each(['receive', 'send'] as const)('cpt-%s gives its unit the weights of the request, and none without them', (role) => {
    const weights = (): string[] => lines('options').filter((line) => line.includes('Weight='));
    run(role, '{"be":"ready"}');
    expect(weights()).toEqual([]);
    run(role, '{"be":"ready","epoch":2}', { SSM_CpuWeight: '20', SSM_IoWeight: '' });
    expect(weights()).toEqual(['--property=CPUWeight=20']);
    run(role, '{"be":"ready","epoch":3}', { SSM_CpuWeight: '10000', SSM_IoWeight: '1' });
    expect(weights().slice(1)).toEqual(['--property=CPUWeight=10000', '--property=IOWeight=1']);
  });

  it.each(['receive', 'send', 'relay'] as const)('cpt-%s starts a daemon again that dies or hangs, and none that ends', (role) => {
    run(role, '{"be":"ready"}');
    const properties = lines('options').flatMap((line) => (line.startsWith('--property=') ? [line.slice(11)] : []));
    const restart = ['Restart=on-failure', 'RestartSec=200ms', 'WatchdogSec=6', 'WatchdogSignal=SIGKILL', 'StartLimitBurst=5'];
    expect(properties).toEqual(expect.arrayContaining(restart));
    // The daemon's own codes: an end that has failed, was used wrongly, was superseded, or has left entries out.
    expect(properties).toContain('RestartPreventExitStatus=1 2 3 4');
  });

  it.each(['scan', 'receive', 'send', 'relay'] as const)('cpt-%s refuses a systemd that is too old', (document) => {
    writeFileSync(path.join(home, 'systemd'), 'systemd 219\n+PAM\n');
    const { status, stderr } = run(document, '{"be":"ready"}');
    expect(status).not.toBe(0);
    expect(stderr).toContain("systemd is '219' on this machine: 247 or later is needed");
    expect(lines('started')).toEqual([]);
  });

  it('cpt-stop ends a scan that is running, and no other program that has its number by now', async () => {
    const folder = path.join(home, 'run', 'demo');
    mkdirSync(folder, { recursive: true });
    const daemon = path.join(home, 'bin', 'cpt-relay-1');
    copyFileSync('/bin/sleep', daemon);
    const children = [spawn(daemon, ['60']), spawn('/bin/sleep', ['60'])] as const;
    children.forEach((child, i) => {
      writeFileSync(path.join(folder, `scan.${i}.pid`), String(child.pid));
    });
    const ended = new Promise((resolve) => children[0].on('exit', (_, signal) => { resolve(signal); }));
    expect(run('stop', '').status).toBe(0);
    expect(await ended).toBe('SIGTERM');
    expect(children[1].exitCode ?? children[1].signalCode).toBeNull();
    children[1].kill();
  });

  it('a daemon that does not become ready fails with the last lines of its log', () => {
    const { status, stderr } = run('receive', '{}');
    expect(status).not.toBe(0);
    expect(stderr).toContain('the log says why');
    expect(stderr).toContain('cpt-receive-demo was not ready');
  });

  it('cpt-stop stops the units of its transfer only, and removes its run directory', () => {
    run('send', '{"be":"ready"}');
    run('send', '{"be":"ready"}', { SSM_TransferId: 'other-demo' });
    const { status, stdout } = run('stop', '');
    expect([status, stdout]).toEqual([0, '{"stopped":"demo"}\n']);
    expect(existsSync(path.join(home, 'run', 'demo'))).toBe(false);
    expect(existsSync(path.join(home, 'unit-cpt-send-other-demo'))).toBe(true);
  });

  it('cpt-stop is idempotent', () => {
    expect([run('stop', '').status, run('stop', '').status]).toEqual([0, 0]);
  });
});

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { describe, expect, it } from 'vitest';
import { RegionDaemons } from '../../infra/lib/names';
import { ANSWER, beginWhileHeld, hasMachine, home, lines, run, SHA, tool } from './ssm-machine';
import { ROOT } from './synthesis';

describe('scripts, run by sh', () => {
  hasMachine();

  it.each(['scan', 'delete', 'probe'] as const)('cpt-%s starts a unit with the decoded command, which answers in the table', (role) => {
    const { status, stdout, stderr } = run(role, '{"paths":["/ä ?>"]}');
    const unit = `cpt-${role}-demo-0123456789abcdef`;
    expect([status, stdout]).toEqual([0, `{"started":"${unit}"}\n`]);
    expect(stderr).toContain('called answer\n');
    expect(existsSync(path.join(home, `unit-${unit}`))).toBe(true);
    expect(readFileSync(path.join(home, 'run', 'demo', '0123456789abcdef.json'), 'utf8')).toBe('{"paths":["/ä ?>"]}');
    const said = lines('arguments')[0];
    expect(said).toContain(` answer ${role} --command ${home}/run/demo/0123456789abcdef.json --to ${ANSWER}`);
  });

  it('a command that is delivered twice starts one unit, and another answer another one', () => {
    const answers = [run('probe', '{}'), run('probe', '{}')];
    expect(answers.map(({ status }) => status)).toEqual([0, 0]);
    expect(answers[0]?.stdout).toBe(answers[1]?.stdout);
    expect(lines('started')).toHaveLength(1);
    run('probe', '{}', { SSM_Answer: ANSWER.replace('0123456789abcdef', 'fedcba9876543210') });
    expect(lines('started')).toHaveLength(2);
  });

  it('a unit that answers may take so long and no longer, and outlives a role that the kernel has ended', () => {
    run('scan', '{}');
    expect(lines('options')).toEqual(expect.arrayContaining(['--property=RuntimeMaxSec=840', '--property=OOMPolicy=continue']));
  });

  it.each(['send', 'receive', 'relay', 'scan', 'delete', 'probe'] as const)('a unit of cpt-%s gets the proxy of the agent’s environment, and nothing else of it', (document) => {
    run(document, '{"be":"ready"}', { HTTPS_PROXY: 'http://proxy:3128', no_proxy: 'a b', HTTP_PROXY: 'x', NO_PROXY: '' });
    expect(lines('options').filter((option) => option.includes('PROXY') || option.includes('proxy'))).toEqual([
      '--setenv=HTTPS_PROXY=http://proxy:3128',
      '--setenv=no_proxy=a b',
    ]);
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
    expect(run('scan', '{}', {}, both).status).toBe(0);
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
         while [ -d "$CPT_HOME" ] && [ ! -e "$CPT_HOME/go" ]; do sleep 0.01; done; fi;; esac; exec /bin/mv "$@"`,
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
      `mkdir "$CPT_HOME/held"; while [ -d "$CPT_HOME" ] && [ ! -e "$CPT_HOME/go" ]; do sleep 0.01; done
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

  it.each(['scan', 'delete', 'probe', 'receive', 'send', 'relay'] as const)('cpt-%s refuses a systemd that is too old', (document) => {
    writeFileSync(path.join(home, 'systemd'), 'systemd 219\n+PAM\n');
    const { status, stderr } = run(document, '{"be":"ready"}');
    expect(status).not.toBe(0);
    expect(stderr).toContain("systemd is '219' on this machine: 247 or later is needed");
    expect(lines('started')).toEqual([]);
  });

  it('cpt-stop ends a scan that is running, and waits for none that hangs', () => {
    run('scan', '{}');
    run('scan', '{}', { SSM_TransferId: 'other-demo' });
    expect(run('stop', '').status).toBe(0);
    expect(lines('not-waited-for')).toEqual(['cpt-scan-demo-0123456789abcdef.service']);
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

  it('cpt-log prints the last lines of its transfer’s relay, and no more than Run Command returns', () => {
    tool('journalctl', 'for a in "$@"; do [ "$a" != cpt-relay-demo ] || seq 100000 200000; done');
    const { status, stdout } = run('log', '');
    expect([status, stdout.length, stdout.endsWith('\n199999\n200000\n')]).toEqual([0, 23_000, true]);
  });

  it('cpt-log ends well where there is no log, or none to be read', () => {
    tool('journalctl', 'exit 1');
    expect(run('log', '')).toMatchObject({ status: 0, stdout: '' });
  });

  it('cpt-stop prints the last lines of what it has stopped beside its answer, after the end', () => {
    run('send', '{"be":"ready"}');
    tool('journalctl', 'for a in "$@"; do [ "$a" != cpt-send-demo ] || cat "$CPT_HOME/stopped"; done');
    const { stdout, stderr } = run('stop', '');
    expect(stdout).toBe('{"stopped":"demo"}\n');
    expect(stderr).toBe(`${path.join(home, 'unit-cpt-send-demo')}\n`);
  });

  it('cpt-stop cancels a token of HDFS that a killed daemon has left, by the program of its worker, and removes it in any case', () => {
    const left = path.join(home, 'private', 'demo');
    mkdirSync(left, { recursive: true });
    writeFileSync(path.join(left, 'hdfs-1-1.token'), 'secret');
    writeFileSync(path.join(left, 'program'), path.join(home, 'bin', 'hadoops-own'));
    tool('hadoops-own', 'echo "$HADOOP_TOKEN_FILE_LOCATION $*" >>"$CPT_HOME/cancelled"');
    expect(run('stop', '').status).toBe(0);
    const token = path.join(left, 'hdfs-1-1.token');
    expect(lines('cancelled')).toEqual([`${token} fetchdt --cancel ${token}`]);
    expect(existsSync(left)).toBe(false);
    mkdirSync(left, { recursive: true });
    writeFileSync(token, 'secret');
    const { status, stderr } = run('stop', '');
    expect([status, stderr.includes('is not cancelled'), existsSync(left)]).toEqual([0, true, false]);
  });

  it('cpt-stop is idempotent', () => {
    expect([run('stop', '').status, run('stop', '').status]).toEqual([0, 0]);
  });
});

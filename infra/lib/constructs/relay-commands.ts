/** The SSM documents: how the control plane starts and stops `cpt-relay` on a machine. */

import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import * as ssm from 'aws-cdk-lib/aws-ssm';
import { Construct } from 'constructs';
import { Settings } from '../config';
import { ARCHITECTURES, Document, documentName, DOCUMENTS, pascalCase, RegionDaemons } from '../names';

const FOLDER = path.join(__dirname, '..', '..', 'ssm-documents');

interface DocumentDefinition {
  readonly description: string;
  /** Files of `infra/ssm-documents`, concatenated in this order after the preamble. */
  readonly parts: readonly string[];
  /** Seconds after which the agent kills the script. */
  readonly timeoutSeconds: number;
  readonly parameters: readonly ParameterName[];
}

const WEIGHT = { allowedPattern: '^([1-9][0-9]{0,3}|10000)?$', default: '' } as const;
const PARAMETERS = {
  TransferId: { description: 'Id of the transfer', allowedPattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,79}$' },
  Command: {
    description: 'Relay command (contracts/relay-command.schema.json), base64url of its JSON',
    allowedPattern: '^[A-Za-z0-9_=-]+$',
  },
  Answer: {
    description: 'Record of the answer: home region, table, partition of the transfer and id, with blanks between them',
    allowedPattern: '^[a-z0-9-]+ [A-Za-z0-9_.-]+ arn:[A-Za-z0-9:/+_-]+ [0-9a-f]{16}$',
  },
  CpuQuota: {
    description: 'Of one processor, what the daemon may use; empty where the machine is its own',
    allowedPattern: '^([1-9][0-9]{0,5}%)?$',
    default: '',
  },
  CpuWeight: { description: 'Processor time of the daemon among other units: systemd’s CPUWeight; empty: as any unit', ...WEIGHT },
  IoWeight: { description: 'Disk time of the daemon among other units: systemd’s IOWeight; empty: as any unit', ...WEIGHT },
} as const;
type ParameterName = keyof typeof PARAMETERS;

const ENDS: ParameterName[] = ['TransferId', 'Command'];
// Fetching the daemon, as those in the background; the units themselves say how long they may take.
const ANSWERING: Omit<DocumentDefinition, 'description'> = {
  parts: ['daemon.sh', 'proxy.sh', 'answering.sh'],
  parameters: [...ENDS, 'Answer'],
  timeoutSeconds: 90,
};
const WEIGHED: ParameterName[] = [...ENDS, 'CpuWeight', 'IoWeight'];
const BACKGROUND = { parts: ['daemon.sh', 'units.sh', 'kept.sh', 'properties.sh', 'restart.sh', 'proxy.sh', 'background.sh'], parameters: ENDS, timeoutSeconds: 90 };

const DEFINITIONS: Readonly<Record<Document, DocumentDefinition>> = {
  scan: { ...ANSWERING, description: 'Begins to list the source or to check the destination' },
  delete: { ...ANSWERING, description: 'Begins to remove what was listed and confirmed at the destination' },
  probe: { ...ANSWERING, description: 'Begins to find out whether an address is reachable' },
  receive: { ...BACKGROUND, parameters: WEIGHED, description: 'Starts the receiver and prints its ready file' },
  send: { ...BACKGROUND, parameters: WEIGHED, description: 'Starts the sender and prints its ready file' },
  relay: { ...BACKGROUND, parameters: [...ENDS, 'CpuQuota'], description: 'Starts a relay and prints its ready file' },
  log: {
    description: 'Prints the last lines of a relay’s log',
    parts: ['lines.sh'],
    timeoutSeconds: 30,
    parameters: ['TransferId'],
  },
  stop: {
    description: 'Stops the daemons of a transfer, and prints the last lines of their logs',
    parts: ['units.sh', 'lines.sh'],
    timeoutSeconds: 90,
    parameters: ['TransferId'],
  },
};

export class RelayCommands extends Construct {
  /** @param daemons the only programs that the documents run: a caller names neither address nor digest */
  public constructor(scope: Construct, id: string, settings: Settings, region: string, daemons: RegionDaemons) {
    super(scope, id);
    for (const document of DOCUMENTS) {
      new ssm.CfnDocument(this, pascalCase(document), {
        name: documentName(settings, document),
        documentType: 'Command',
        documentFormat: 'JSON',
        targetType: '/AWS::EC2::Instance',
        updateMethod: 'NewVersion',
        content: documentContent(document, region, daemons),
      });
    }
  }
}

/** The whole script of a document, as the agent runs it. */
export function documentScript(document: Document, region: string, daemons: RegionDaemons): string {
  const { parts } = DEFINITIONS[document];
  const constants = parts.includes('daemon.sh') ? daemonConstants(region, daemons) : '';
  const files = ['preamble.sh', ...parts, `${document}.sh`];
  return constants + files.map((file) => readFileSync(path.join(FOLDER, file), 'utf8')).join('');
}

/** Memory and descriptors of one lease's daemon: of a node's memory, leases together have what a relay of one transfer has. */
export function leaseBounds(leases: number): { readonly memory: string; readonly descriptors: number } {
  return { memory: `${Math.floor(75 / leases)}%`, descriptors: Math.floor(65_536 / leases) };
}

/** The script by which a node of the pool starts and stops leases: as the relay's document, with bounds of its own. */
export function leaseScript(region: string, daemons: RegionDaemons, constants: readonly [string, string][]): string {
  const parts = ['preamble.sh', 'daemon.sh', 'units.sh', 'kept.sh', 'properties.sh', 'restart.sh', 'proxy.sh', 'background.sh'];
  const own = constants.map(([name, value]) => `readonly ${name}='${value}'\n`).join('');
  const files = [...parts, 'metadata.sh', 'lease.sh'];
  return daemonConstants(region, daemons) + own + files.map((file) => withoutComments(readFileSync(path.join(FOLDER, file), 'utf8'))).join('');
}

/** User data has 16 KB, in which words for whoever reads the files have no room. */
function withoutComments(script: string): string {
  return script.replace(/^\s*#.*\n/gm, '');
}

/** Where the region's daemons lie and what they hash to, as read-only variables; empty for a processor without one. */
function daemonConstants(region: string, daemons: RegionDaemons): string {
  const constants: [string, string][] = [['region', region]];
  for (const architecture of ARCHITECTURES) {
    const daemon = daemons[architecture];
    constants.push([`uri_${architecture}`, daemon ? `s3://${daemon.bucket}/${daemon.key}` : '']);
    constants.push([`sha256_${architecture}`, daemon?.sha256 ?? '']);
  }
  return constants.map(([name, value]) => `readonly daemon_${name}='${value}'\n`).join('');
}

/** Content of a document, schema 2.2. */
export function documentContent(document: Document, region: string, daemons: RegionDaemons): Record<string, unknown> {
  const { description, timeoutSeconds, parameters } = DEFINITIONS[document];
  return {
    schemaVersion: '2.2',
    description,
    parameters: Object.fromEntries(
      parameters.map((name) => [name, { type: 'String', interpolationType: 'ENV_VAR', ...PARAMETERS[name] }]),
    ),
    mainSteps: [
      {
        action: 'aws:runShellScript',
        name: document,
        precondition: { StringEquals: ['platformType', 'Linux'] },
        inputs: {
          timeoutSeconds: String(timeoutSeconds),
          runCommand: documentScript(document, region, daemons).trimEnd().split('\n'),
        },
      },
    ],
  };
}

/** The SSM documents: how the control plane starts and stops `cpt-relay` on a machine. */

import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import * as ssm from 'aws-cdk-lib/aws-ssm';
import { Construct } from 'constructs';
import { Settings } from '../config';
import { Document, documentName, DOCUMENTS, pascalCase } from '../names';

const FOLDER = path.join(__dirname, '..', '..', 'ssm-documents');

interface DocumentDefinition {
  readonly description: string;
  /** Files of `infra/ssm-documents`, concatenated in this order after the preamble. */
  readonly parts: readonly string[];
  /** Seconds after which the agent kills the script. */
  readonly timeoutSeconds: number;
  readonly parameters: readonly ParameterName[];
}

const PARAMETERS = {
  TransferId: { description: 'Id of the transfer', allowedPattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,79}$' },
  Command: {
    description: 'Relay command (contracts/relay-command.schema.json), base64url of its JSON',
    allowedPattern: '^[A-Za-z0-9_=-]+$',
  },
  DaemonUri: {
    description: 'The daemon for x86-64 in this region’s asset bucket',
    allowedPattern: '^s3://[a-z0-9.-]+/[A-Za-z0-9._/-]+$',
  },
  DaemonSha256: { description: 'SHA-256 of the daemon for x86-64, hex', allowedPattern: '^[0-9a-f]{64}$' },
  DaemonUriArm64: {
    description: 'The daemon for arm64; empty where none is deployed',
    allowedPattern: '^(s3://[a-z0-9.-]+/[A-Za-z0-9._/-]+)?$',
    default: '',
  },
  DaemonSha256Arm64: {
    description: 'SHA-256 of the daemon for arm64, hex',
    allowedPattern: '^([0-9a-f]{64})?$',
    default: '',
  },
  CpuQuota: {
    description: 'Of one processor, what the daemon may use; empty where the machine is its own',
    allowedPattern: '^([1-9][0-9]{0,5}%)?$',
    default: '',
  },
  DaemonRegion: { description: 'Region of the asset bucket', allowedPattern: '^[a-z]{2}(-[a-z]+)+-[0-9]$' },
} as const;
type ParameterName = keyof typeof PARAMETERS;

const RELAY = Object.keys(PARAMETERS) as ParameterName[];
const ALL = RELAY.filter((name) => name !== 'CpuQuota');
const FOREGROUND = { parts: ['daemon.sh', 'foreground.sh'], parameters: ALL };
const BACKGROUND = { parts: ['daemon.sh', 'units.sh', 'properties.sh', 'background.sh'], parameters: ALL, timeoutSeconds: 90 };

const DEFINITIONS: Readonly<Record<Document, DocumentDefinition>> = {
  // A minute less than the Lambda that waits for it has.
  scan: { ...FOREGROUND, description: 'Lists the source or checks the destination', timeoutSeconds: 840 },
  probe: { ...FOREGROUND, description: 'Finds out whether an address is reachable', timeoutSeconds: 120 },
  receive: { ...BACKGROUND, description: 'Starts the receiver and prints its ready file' },
  send: { ...BACKGROUND, description: 'Starts the sender and prints its ready file' },
  relay: { ...BACKGROUND, parameters: RELAY, description: 'Starts a relay and prints its ready file' },
  stop: {
    description: 'Stops the daemons of a transfer',
    parts: ['units.sh'],
    timeoutSeconds: 90,
    parameters: ['TransferId'],
  },
};

export class RelayCommands extends Construct {
  public constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    for (const document of DOCUMENTS) {
      new ssm.CfnDocument(this, pascalCase(document), {
        name: documentName(settings, document),
        documentType: 'Command',
        documentFormat: 'JSON',
        targetType: '/AWS::EC2::Instance',
        updateMethod: 'NewVersion',
        content: documentContent(document),
      });
    }
  }
}

/** The whole script of a document, as the agent runs it. */
export function documentScript(document: Document): string {
  const files = ['preamble.sh', ...DEFINITIONS[document].parts, `${document}.sh`];
  return files.map((file) => readFileSync(path.join(FOLDER, file), 'utf8')).join('');
}

/** Content of a document, schema 2.2. */
export function documentContent(document: Document): Record<string, unknown> {
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
        inputs: { timeoutSeconds: String(timeoutSeconds), runCommand: documentScript(document).trimEnd().split('\n') },
      },
    ],
  };
}

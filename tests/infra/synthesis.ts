/** Templates for tests: the app of cdk.json with some settings changed, synthesized here without bundling. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import * as path from 'node:path';
import { App, Validations } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { AwsSolutionsChecks } from 'cdk-nag';
import { readSettings, Settings } from '../../infra/lib/config';
import { addDeployment, Deployment } from '../../infra/lib/deployment';
import { ARCHITECTURES } from '../../infra/lib/names';

export const ROOT = path.resolve(__dirname, '..', '..');

const ZONES = ['a', 'b', 'c', 'd', 'e', 'f'];

/** Ten regions, each with a VPC of six subnets that are named one by one: the most that a template has to say of them. */
export const TEN_REGIONS = Object.fromEntries(
  [
    'us-east-1',
    'us-east-2',
    'us-west-1',
    'us-west-2',
    'eu-west-1',
    'eu-central-1',
    'ap-northeast-1',
    'ap-northeast-2',
    'ap-southeast-1',
    'ap-southeast-2',
  ].map((region) => [
    region,
    {
      vpcId: 'vpc-0123456789abcdef0',
      availabilityZones: ZONES.map((zone) => region + zone),
      subnetIds: ZONES.map((zone) => `subnet-0123456789abcdef${zone}`),
    },
  ]),
);

/** One that is read, one that is written, and one that is mirrored into, with a key of its owner's. */
export const BUCKETS = [
  { bucket: 'archive', region: 'us-west-2', read: true, restore: true },
  { bucket: 'my-data', prefix: 'backup/', region: 'eu-west-1', read: true, write: true },
  {
    bucket: 'mirrors',
    prefix: 'team-a/',
    region: 'eu-west-1',
    write: true,
    delete: true,
    kmsKey: 'arn:aws:kms:eu-west-1:123456789012:key/1234abcd',
  },
];

/** A pool in one of two regions. */
export const POOL = { 'us-west-2': { min: 1, max: 4, instanceType: 'c6in.large' } };

export const TWO_REGIONS = { homeRegion: 'us-west-2', regions: { 'us-west-2': {}, 'eu-west-1': {} } };

export interface Synthesis {
  readonly app: App;
  readonly settings: Settings;
  readonly control: Template;
  /** Size of the control stack's template as it is uploaded. */
  readonly controlBytes: number;
  readonly region: (region: string) => Template;
  /** What tenants have; absent where there are none. */
  readonly tenants: Template | undefined;
  /** Of the pool; without one it is not there, and asking for it is an error. */
  readonly pool: Template;
}

/** Context of cdk.json; its `cpt` is what a user gets who changes nothing. */
export function shippedContext(): Record<string, unknown> {
  const file = JSON.parse(readFileSync(path.join(ROOT, 'cdk.json'), 'utf8')) as { context: Record<string, unknown> };
  return file.context;
}

export interface SynthesisOptions {
  /** Throws what cdk-nag finds. */
  readonly nag?: boolean;
  /** With a daemon for that processor. */
  readonly arm64?: boolean;
  /** What a test adds before the synthesis. */
  readonly add?: (deployment: Deployment, settings: Settings) => void;
}

/** What many files ask for: the shipped settings, and those with a pool. Others would fill the memory. */
const shared = new Map<string, Synthesis>();

/** Synthesizes the deployment with `changes` over the shipped settings; nobody changes what it returns. */
export function synthesize(changes: Record<string, unknown> = {}, options: SynthesisOptions = {}): Synthesis {
  const key = JSON.stringify(changes);
  const isShared = Object.keys(options).length === 0 && ['{}', JSON.stringify({ pool: POOL })].includes(key);
  if (!isShared) return synthesized(changes, options);
  const found = shared.get(key) ?? synthesized(changes, options);
  shared.set(key, found);
  return found;
}

function synthesized(changes: Record<string, unknown>, options: SynthesisOptions): Synthesis {
  const context = shippedContext();
  const scratch = path.join(ROOT, '.cache', 'synth');
  mkdirSync(scratch, { recursive: true });
  const outdir = mkdtempSync(path.join(scratch, 'test-'));
  const app = new App({
    context: { ...context, 'aws:cdk:bundling-stacks': [], 'cpt:allowMissingDaemon': true },
    outdir,
    analyticsReporting: false,
  });
  const architectures = ARCHITECTURES.filter((name) => name === 'x86_64' || options.arm64);
  const settings = readSettings({ ...(context.cpt as object), ...changes }, architectures);
  const deployment = addDeployment(app, settings);
  const { control, tenants, regions } = deployment;
  options.add?.(deployment, settings);
  if (options.nag) Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  try {
    const assembly = app.synth();
    const template = (name: string): Template =>
      Template.fromJSON(assembly.getStackByName(name).template as Record<string, unknown>);
    const byRegion = new Map([...regions].map(([region, { stackName }]) => [region, template(stackName)]));
    const region = (name: string): Template => {
      const found = byRegion.get(name);
      if (found === undefined) throw new Error(`no stack for region ${name}`);
      return found;
    };
    const controlBytes = statSync(assembly.getStackByName(control.stackName).templateFullPath).size;
    const pool = deployment.pool && template(deployment.pool.stackName);
    return {
      app,
      settings,
      control: template(control.stackName),
      controlBytes,
      region,
      tenants: tenants && template(tenants.stackName),
      get pool(): Template {
        if (pool === undefined) throw new Error('there is no pool in these settings');
        return pool;
      },
    };
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}

export interface Resource {
  readonly Type: string;
  readonly Properties: Record<string, unknown>;
  readonly DeletionPolicy?: string;
}

/** Properties of all resources of a type, by logical id. */
export function resources(template: Template, type: string): Record<string, Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(template.findResources(type)).map(([id, resource]) => [id, (resource as Resource).Properties]),
  );
}

/** A value of the template as text, with `<AWS::AccountId>` for a reference and `<Id.Arn>` for an attribute. */
export function text(value: unknown): string {
  if (typeof value === 'string') return value.replace(/\$\{([\w:]+)\}/g, '<$1>');
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const [intrinsic, argument] = Object.entries(value)[0] ?? [];
  if (intrinsic === 'Ref') return `<${argument as string}>`;
  if (intrinsic === 'Fn::GetAtt') return `<${(argument as string[]).join('.')}>`;
  if (intrinsic === 'Fn::Sub') return text(argument);
  if (intrinsic === 'Fn::Join') return (argument as [string, unknown[]])[1].map(text).join('');
  throw new Error(`no text for ${JSON.stringify(value)}`);
}

export interface Statement {
  readonly actions: string[];
  readonly resources: string[];
  readonly condition: Record<string, Record<string, unknown>>;
}

/** Statements of a policy document that allow something, or that refuse it. */
export function statements(document: unknown, effect: 'Allow' | 'Deny' = 'Allow'): Statement[] {
  const list = (document as { Statement: Record<string, unknown>[] }).Statement;
  return list.filter(({ Effect }) => Effect === effect).map((entry) => ({
    actions: [entry.Action].flat() as string[],
    resources: [entry.Resource].flat().map(text),
    condition: (entry.Condition ?? {}) as Statement['condition'],
  }));
}

/** Statements of the role of one function, by the function's name. */
export function statementsOf(control: Template, functionName: string): Statement[] {
  const found = Object.values(resources(control, 'AWS::Lambda::Function')).find(
    ({ FunctionName }) => FunctionName === functionName,
  );
  const role = text(found?.Role).replace(/^<(.*)\.Arn>$/, '$1');
  return policies(control)
    .filter(({ roles }) => roles.includes(role))
    .flatMap(({ document }) => statements(document));
}

export interface Policy {
  /** Logical ids of the roles that have it. */
  readonly roles: readonly string[];
  /** Logical id of the policy, or of the role that it is inside of. */
  readonly id: string;
  readonly document: unknown;
}

/** Every policy of a template: inside of a role, beside it, and managed. */
export function policies(template: Template): Policy[] {
  const inside = Object.entries(resources(template, 'AWS::IAM::Role')).flatMap(([id, { Policies }]) =>
    ((Policies ?? []) as { PolicyDocument: unknown }[]).map(({ PolicyDocument }) => ({ roles: [id], id, document: PolicyDocument })),
  );
  const beside = ['AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy'].flatMap((type) =>
    Object.entries(resources(template, type)).map(([id, { Roles, PolicyDocument }]) => ({
      roles: ((Roles ?? []) as unknown[]).map((role) => text(role).slice(1, -1)),
      id,
      document: PolicyDocument,
    })),
  );
  return [...inside, ...beside];
}

/** The policy that people attach to the roles of their machines. */
export function endpointPolicy(control: Template): Record<string, unknown> | undefined {
  return Object.values(resources(control, 'AWS::IAM::ManagedPolicy')).find(({ ManagedPolicyName }) => ManagedPolicyName === 'cpt-endpoint');
}

/** Replaces what CloudFormation fills in by text of its real length: 12 digits of an account, a partition, an ARN. */
export function rendered(_: string, value: unknown): unknown {
  const intrinsic =
    typeof value === 'object' &&
    value !== null &&
    ['Ref', 'Fn::Join', 'Fn::GetAtt', 'Fn::Sub'].some((key) => key in value);
  return intrinsic
    ? text(value)
        .replaceAll('<AWS::AccountId>', '123456789012')
        .replaceAll('<AWS::Partition>', 'aws-cn')
        .replaceAll(/<[^>]+>/g, 'x'.repeat(90))
    : value;
}

/** What all functions read from their environment, which the template has once. */
export function sharedEnvironment(template: Template): unknown {
  const found = Object.values(resources(template, 'AWS::SSM::Parameter')).filter(({ Name }) => (Name as string).endsWith('/function-environment'));
  return found[0]?.Value;
}

/** Bytes of a function's variables as Lambda counts them, with what CloudFormation fills in. */
export function environmentBytes(template: Template, variables: Record<string, unknown>): number {
  const filled = { ...variables, SETTINGS: sharedEnvironment(template) };
  const values = JSON.parse(JSON.stringify(filled, rendered)) as Record<string, string>;
  return Object.entries(values).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
}

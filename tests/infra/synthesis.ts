/** Templates for tests: the app of cdk.json with some settings changed, synthesized here without bundling. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import * as path from 'node:path';
import { App, Validations } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { AwsSolutionsChecks } from 'cdk-nag';
import { readSettings, Settings } from '../../infra/lib/config';
import { addDeployment } from '../../infra/lib/deployment';
import { ARCHITECTURES } from '../../infra/lib/names';

export const ROOT = path.resolve(__dirname, '..', '..');

export const TWO_REGIONS = { homeRegion: 'us-west-2', regions: { 'us-west-2': {}, 'eu-west-1': {} } };

export interface Synthesis {
  readonly app: App;
  readonly settings: Settings;
  readonly control: Template;
  readonly region: (region: string) => Template;
}

/** Context of cdk.json; its `cpt` is what a user gets who changes nothing. */
export function shippedContext(): Record<string, unknown> {
  const file = JSON.parse(readFileSync(path.join(ROOT, 'cdk.json'), 'utf8')) as { context: Record<string, unknown> };
  return file.context;
}

/** Synthesizes the deployment with `changes` over the shipped settings. Throws what cdk-nag finds when `nag` is set; `arm64`: with its daemon. */
export function synthesize(changes: Record<string, unknown> = {}, options: { nag?: boolean; arm64?: boolean } = {}): Synthesis {
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
  const { control, regions } = addDeployment(app, settings);
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
    return { app, settings, control: template(control.stackName), region };
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

/** Statements of a policy document. */
export function statements(document: unknown): Statement[] {
  const list = (document as { Statement: Record<string, unknown>[] }).Statement;
  return list.map((entry) => ({
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
  // What one inline policy cannot hold, the CDK puts into managed ones.
  return ['AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy']
    .flatMap((type) => Object.values(resources(control, type)))
    .filter(({ Roles }) => ((Roles ?? []) as unknown[]).map(text).includes(`<${role}>`))
    .flatMap(({ PolicyDocument }) => statements(PolicyDocument));
}

/** The policy that people attach to the roles of their machines. */
export function endpointPolicy(control: Template): Record<string, unknown> | undefined {
  return Object.values(resources(control, 'AWS::IAM::ManagedPolicy')).find(({ ManagedPolicyName }) => ManagedPolicyName);
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

/** Bytes of a function's variables as Lambda counts them. */
export function environmentBytes(variables: Record<string, unknown>): number {
  const values = JSON.parse(JSON.stringify(variables, rendered)) as Record<string, string>;
  return Object.entries(values).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
}

/** What a tenant may do: exactly what is his own, by his alias, by names that begin with `TENANT-`, and by keys below his prefix. */

import { Settings } from '../config';
import {
  arn,
  CALLS_OF_TENANTS,
  functionName,
  Handler,
  serviceNames,
  stateMachineArn,
  stateMachineName,
  tenantRequestsPrefix,
  tenantStartsGroupName,
  tenantStartsRoleName,
  TRANSFERS_PREFIX,
} from '../names';
import { Access } from './access';
import * as data from './control-data';

const WHY = 'Whoever starts a transfer chooses its name behind the tenant’s.';

/** All permissions of one tenant. */
export function ofTenant(settings: Settings, tenant: string): Access[] {
  return [
    ...executions(settings, tenant),
    ...records(settings, tenant),
    {
      actions: ['lambda:InvokeFunction'],
      resources: CALLS_OF_TENANTS.map((call) => aliasArn(settings, call, tenant)),
    },
    // A request is judged by the deployment's settings before it is sent.
    { actions: ['lambda:GetFunctionConfiguration'], resources: [functionArn(settings, 'validate_request')] },
    {
      actions: ['ec2:DescribeInstances'],
      resources: ['*'],
      why: 'EC2 evaluates this action without a resource. It finds the region of a machine.',
    },
    ...schedules(settings, tenant),
  ];
}

/** What schedules of a tenant do: they hand their requests to his alias of the function that judges and starts them. */
export function scheduledByTenant(settings: Settings, tenant: string): Access[] {
  return [
    { actions: ['lambda:InvokeFunction'], resources: [aliasArn(settings, 'start_from_schedule', tenant)] },
    { actions: ['sqs:SendMessage'], resources: [deadLettersOfSchedules(settings)] },
  ];
}

export function deadLettersOfSchedules(settings: Settings): string {
  return arn('sqs', settings.homeRegion, `${functionName(settings, 'start_from_schedule')}-dead-letters`);
}

/**
 * Step Functions evaluates calls that name an alias on the state machine's own ARN, with the alias as a condition key of several
 * values; a call that names no alias has no such key. Source: Step Functions Developer Guide, "Authorization for versions and
 * aliases" (read on 2026-12-01).
 */
function executions(settings: Settings, tenant: string): Access[] {
  return [
    {
      actions: ['states:StartExecution', 'states:ListExecutions'],
      resources: [stateMachineArn(settings)],
      conditions: { 'ForAnyValue:StringEquals': { 'states:StateMachineQualifier': [tenant] } },
    },
    {
      actions: ['states:DescribeExecution', 'states:StopExecution', 'states:GetExecutionHistory'],
      resources: [arn('states', settings.homeRegion, `execution:${stateMachineName(settings)}:${tenant}-*`)],
      why: WHY,
    },
  ];
}

/** Records and relays of his transfers, what their ends tell, their reports; and requests that he uploads, with the answers. */
function records(settings: Settings, tenant: string): Access[] {
  // The key of what both ends share ends with the transfer's id behind a +, which neither an ARN nor an id has.
  const keys = (...patterns: readonly string[]): Access['conditions'] => ({
    'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': patterns },
    // ForAllValues holds for a call that names no key at all.
    Null: { 'dynamodb:LeadingKeys': 'false' },
  });
  return [
    { ...data.table(settings, 'transfers', 'GetItem', 'Query'), conditions: keys(`${tenant}-*`, `*+${tenant}-*`) },
    { ...data.table(settings, 'nodes', 'Query'), conditions: keys(`${tenant}-*`) },
    { actions: ['s3:GetObject'], resources: [`${data.bucketArn(settings)}/${TRANSFERS_PREFIX}${tenant}-*`], why: WHY },
    {
      actions: ['s3:GetObject', 's3:PutObject'],
      resources: [`${data.bucketArn(settings)}/${tenantRequestsPrefix(tenant)}*.json`],
      why: 'Whoever writes a request document chooses its key.',
    },
  ];
}

/** His schedules lie in a group of their own, and their role reaches his alias alone: whoever may pass it gains nothing else. */
function schedules(settings: Settings, tenant: string): Access[] {
  return [
    {
      actions: ['scheduler:GetSchedule', 'scheduler:CreateSchedule', 'scheduler:UpdateSchedule', 'scheduler:DeleteSchedule'],
      resources: [arn('scheduler', settings.homeRegion, `schedule/${tenantStartsGroupName(settings, tenant)}/*`)],
      why: 'Whoever adds a schedule chooses its name.',
    },
    {
      actions: ['iam:PassRole'],
      resources: [arn('iam', '', `role/${tenantStartsRoleName(settings, tenant)}`)],
      conditions: { StringEquals: { 'iam:PassedToService': serviceNames('scheduler') } },
    },
  ];
}

function functionArn(settings: Settings, handler: Handler): string {
  return arn('lambda', settings.homeRegion, `function:${functionName(settings, handler)}`);
}

function aliasArn(settings: Settings, handler: Handler, tenant: string): string {
  return `${functionArn(settings, handler)}:${tenant}`;
}

/** The enrolled regions, said once in a policy for all of its permissions that name no region. */

import * as iam from 'aws-cdk-lib/aws-iam';
import { Settings } from '../config';
import { arn } from '../names';
import { Access } from './access';

const OF_ANY_REGION = /^arn:[^:]+:\w+:\*:/;

/** ARN of a resource of this account in any region: with `onlyEnrolled` in its policy, of the enrolled ones. */
export function anywhere(service: string, resource: string): string {
  return arn(service, '*', resource);
}

/**
 * Refuses all actions of `accesses` with such an ARN in a region that is not enrolled. A call reaches only resources of the region
 * that it is made to, so the ARNs allow what one for each region would, and a policy stays as long as it is with one region.
 */
export function onlyEnrolled(settings: Settings, accesses: readonly Access[]): iam.PolicyStatement[] {
  const open = accesses.filter(({ resources }) => resources.some((resource) => OF_ANY_REGION.test(resource)));
  const actions = [...new Set(open.flatMap((access) => access.actions))].sort();
  if (actions.length === 0) return [];
  const elsewhere = { StringNotEquals: { 'aws:RequestedRegion': settings.regions.map(({ region }) => region) } };
  return [new iam.PolicyStatement({ effect: iam.Effect.DENY, actions, resources: ['*'], conditions: elsewhere })];
}

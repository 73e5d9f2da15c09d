/** One entry of a role's permissions, and how it reaches a role. */

import { Validations } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { IConstruct } from 'constructs';
import { Settings } from '../config';
import { onlyEnrolled } from './regions';

export interface Access {
  readonly actions: readonly string[];
  /** ARNs made of literals and pseudo parameters only (see `arn` in names.ts). */
  readonly resources: readonly string[];
  readonly conditions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Why a resource with a `*` is the narrowest that does; required for such a resource. */
  readonly why?: string;
}

/** Between the reasons for one resource; tests/privileges/grants.py takes them apart again for docs/security.md. */
const REASONS = ' | ';

/** The policy statement of one entry. */
export function statement(access: Access): iam.PolicyStatement {
  return new iam.PolicyStatement({
    actions: [...access.actions],
    resources: [...access.resources],
    ...(access.conditions && { conditions: access.conditions }),
  });
}

/** Name of the policy inside of each function's role; `cli/leave/permissions.py` has it too. */
export const INLINE_POLICY = 'access';

/** A policy of exactly these permissions, those that name no region in the enrolled ones alone. */
export function policyOf(settings: Settings, accesses: readonly Access[]): iam.PolicyDocument {
  return new iam.PolicyDocument({ statements: [...accesses.map(statement), ...onlyEnrolled(settings, accesses)] });
}

/** Gives a role exactly these permissions, and records the reason of each wildcard for cdk-nag on that role alone. */
export function allow(role: iam.Role, accesses: readonly Access[]): void {
  for (const access of accesses) role.addToPolicy(statement(access));
  acknowledgeWildcards(role, accesses);
}

/**
 * Records why each wildcard resource of `accesses` is needed, on `scope` only.
 * @throws Error for a wildcard without a reason.
 */
export function acknowledgeWildcards(scope: IConstruct, accesses: readonly Access[]): void {
  const reasons = new Map<string, Set<string>>();
  for (const { actions, resources, why } of accesses) {
    for (const resource of resources.filter((text) => text.includes('*'))) {
      if (why === undefined) throw new Error(`${scope.node.path}: ${actions.join(', ')} on ${resource} needs a reason`);
      reasons.set(resource, (reasons.get(resource) ?? new Set()).add(why));
    }
  }
  for (const [resource, whys] of reasons) {
    const reason = [...whys].join(REASONS);
    Validations.of(scope).acknowledge({ id: `AwsSolutions-IAM5[Resource::${flatten(resource)}]`, reason });
  }
}

/** `arn:${Token[AWS.Partition.3]}:…` → `arn:<AWS::Partition>:…`, policy variables alike: so cdk-nag names a finding. */
function flatten(resource: string): string {
  return resource.replace(/\$\{Token\[AWS\.(\w+)\.\d+\]\}/g, '<AWS::$1>').replace(/\$\{(\w+:\w+)\}/g, '<$1>');
}

/** All stacks of one deployment. */

import { Stack, Tags } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { Settings } from './config';
import { ControlStack } from './control-stack';
import { allTags } from './names';
import { PoolStack } from './pool-stack';
import { RegionStack } from './region-stack';
import { TenantsStack } from './tenants-stack';

export interface Deployment {
  readonly control: ControlStack;
  /** Absent where there are no tenants. */
  readonly tenants: TenantsStack | undefined;
  readonly regions: ReadonlyMap<string, RegionStack>;
  /** Where the settings name regions with a pool. */
  readonly pool?: PoolStack;
}

/** Adds the control stack, one stack per enrolled region, and one for tenants where there are some, to `scope`. */
export function addDeployment(scope: Construct, settings: Settings): Deployment {
  const regions = new Map(settings.regions.map((region) => [region.region, new RegionStack(scope, settings, region)]));
  const daemons = Object.fromEntries([...regions].map(([region, stack]) => [region, stack.daemons]));
  const control = new ControlStack(scope, settings, daemons);
  // The forwarding rules need the bus.
  for (const region of regions.values()) region.addStackDependency(control);
  const tenants = settings.tenants.length > 0 ? new TenantsStack(scope, settings) : undefined;
  // Its aliases are of functions of the control stack.
  tenants?.addStackDependency(control);
  const pool = settings.pool.length > 0 ? new PoolStack(scope, settings, daemons) : undefined;
  // Its alarms ring the control stack's topic, and its nodes are launched with what the regions have.
  for (const needed of [control, ...regions.values()]) pool?.addStackDependency(needed);
  for (const [key, value] of Object.entries(allTags(settings))) Tags.of(scope).add(key, value);
  const apart = [tenants, pool].filter((stack) => stack !== undefined);
  for (const stack of [control, ...apart, ...regions.values()]) boundRoles(stack, settings);
  return { control, tenants, regions, pool };
}

function boundRoles(stack: Stack, { permissionsBoundary }: Settings): void {
  if (permissionsBoundary === undefined) return;
  iam.PermissionsBoundary.of(stack).apply(iam.ManagedPolicy.fromManagedPolicyArn(stack, 'Boundary', permissionsBoundary));
}

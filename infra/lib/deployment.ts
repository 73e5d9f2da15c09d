/** All stacks of one deployment. */

import { Stack, Tags } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { Settings } from './config';
import { ControlStack } from './control-stack';
import { allTags } from './names';
import { PoolStack } from './pool-stack';
import { RegionStack } from './region-stack';

export interface Deployment {
  readonly control: ControlStack;
  readonly regions: ReadonlyMap<string, RegionStack>;
  /** Where the settings name regions with a pool. */
  readonly pool?: PoolStack;
}

/** Adds the control stack and one stack per enrolled region to `scope`. */
export function addDeployment(scope: Construct, settings: Settings): Deployment {
  const regions = new Map(settings.regions.map((region) => [region.region, new RegionStack(scope, settings, region)]));
  const daemons = Object.fromEntries([...regions].map(([region, stack]) => [region, stack.daemons]));
  const control = new ControlStack(scope, settings, daemons);
  // The forwarding rules need the bus.
  for (const region of regions.values()) region.addStackDependency(control);
  const pool = settings.pool.length > 0 ? new PoolStack(scope, settings, daemons) : undefined;
  // Its alarms ring the control stack's topic, and its nodes are launched with what the regions have.
  for (const needed of [control, ...regions.values()]) pool?.addStackDependency(needed);
  for (const [key, value] of Object.entries(allTags(settings))) Tags.of(scope).add(key, value);
  for (const stack of [control, ...regions.values(), ...(pool ? [pool] : [])]) boundRoles(stack, settings);
  return { control, regions, pool };
}

function boundRoles(stack: Stack, { permissionsBoundary }: Settings): void {
  if (permissionsBoundary === undefined) return;
  iam.PermissionsBoundary.of(stack).apply(iam.ManagedPolicy.fromManagedPolicyArn(stack, 'Boundary', permissionsBoundary));
}

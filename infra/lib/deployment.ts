/** All stacks of one deployment. */

import { Tags } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { Settings } from './config';
import { ControlStack } from './control-stack';
import { DEPLOYMENT_TAG } from './names';
import { RegionStack } from './region-stack';

export interface Deployment {
  readonly control: ControlStack;
  readonly regions: ReadonlyMap<string, RegionStack>;
}

/** Adds the control stack and one stack per enrolled region to `scope`. */
export function addDeployment(scope: Construct, settings: Settings): Deployment {
  const regions = new Map(settings.regions.map((region) => [region.region, new RegionStack(scope, settings, region)]));
  const daemons = Object.fromEntries([...regions].map(([region, stack]) => [region, stack.daemons]));
  const control = new ControlStack(scope, settings, daemons);
  // The forwarding rules need the bus.
  for (const region of regions.values()) region.addStackDependency(control);
  Tags.of(scope).add(DEPLOYMENT_TAG, settings.name);
  return { control, regions };
}

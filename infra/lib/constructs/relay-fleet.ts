/** What a relay is launched with: role, instance profile, a launch template per architecture. */

import { Aws } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { allow } from '../access/access';
import { ssmAgent } from '../access/agent';
import { fetchAssets } from '../access/assets';
import { Settings } from '../config';
import { launchTemplateName, RegionDaemons, relayRoleName } from '../names';
import { addLaunchTemplate } from './launch-template';
import { daemonObjectArns } from './relay-daemon';

export class RelayFleet extends Construct {
  public constructor(scope: Construct, id: string, settings: Settings, region: string, daemons: RegionDaemons) {
    super(scope, id);
    const name = relayRoleName(settings, region);
    const role = new iam.Role(this, 'Role', {
      roleName: name,
      assumedBy: new iam.ServicePrincipal('ec2.amazonaws.com'),
      description: 'Relays: the SSM agent and their own program; no table, no bus, no data',
    });
    allow(role, [ssmAgent(), ...fetchAssets(region, daemonObjectArns(Aws.PARTITION, daemons))]);
    const profile = new iam.CfnInstanceProfile(this, 'InstanceProfile', {
      instanceProfileName: name,
      roles: [role.roleName],
    });
    for (const architecture of settings.architectures) {
      addLaunchTemplate(this, settings, architecture, { name: launchTemplateName(settings, architecture), profile, userData: userData(settings) });
    }
  }
}

/**
 * The last net under a relay: it powers itself off, which terminates it, even after the stack is gone. Armed before any
 * command reaches it; from then on its daemon arms it anew each time that the sender keeps it alive. User data runs at the
 * first boot only, so it leaves a script that cloud-init runs at each later one.
 */
export function userData(settings: Settings): string {
  const arm = `shutdown -P +${settings.relayTimeToLiveMinutes}`;
  return [
    '#!/bin/bash',
    arm,
    'script="${CPT_PER_BOOT:-/var/lib/cloud/scripts/per-boot}/cpt-time-to-live"',
    `printf '#!/bin/sh\\n${arm}\\n' >"$script"`,
    'chmod 755 "$script"',
    '',
  ].join('\n');
}

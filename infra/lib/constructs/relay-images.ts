/** Our own images of relays, one per architecture, built in the home region: what the pipelines share. */

import * as path from 'node:path';
import { Aws } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as imagebuilder from 'aws-cdk-lib/aws-imagebuilder';
import * as assets from 'aws-cdk-lib/aws-s3-assets';
import { Construct } from 'constructs';
import { allow } from '../access/access';
import { buildImages, expireImages } from '../access/images';
import { Settings } from '../config';
import { ARCHITECTURES, DEPLOYMENT_TAG, RegionDaemons } from '../names';
import { ROOT } from './python-code';
import { daemonObjectArns } from './relay-daemon';
import { RelayImage } from './relay-image';
import { RelayNetwork } from './relay-network';

/** Of each pipeline; older ones go with their snapshots, in every region. */
const KEPT_IMAGES = 3;

export class RelayImages extends Construct {
  public constructor(scope: Construct, id: string, settings: Settings, daemons: RegionDaemons, network: RelayNetwork) {
    super(scope, id);
    const files = new assets.Asset(this, 'Files', { path: path.join(ROOT, 'relay-ami', 'image') });
    const instanceProfileName = this.builder(settings, [
      ...daemonObjectArns(Aws.PARTITION, daemons),
      `arn:${Aws.PARTITION}:s3:::${files.s3BucketName}/${files.s3ObjectKey}`,
    ]);
    for (const architecture of ARCHITECTURES) {
      const daemon = daemons[architecture];
      if (daemon === undefined) continue;
      new RelayImage(this, architecture, {
        settings,
        architecture,
        daemon,
        files,
        instanceProfileName,
        subnetId: network.subnetIds[0] ?? '',
        // Lets out HTTPS, which is all that a build needs, and nobody in.
        securityGroupId: network.relayGroup.securityGroupId,
      });
    }
    this.expire(settings);
  }

  /** Name of the instance profile of the machines that build and test. */
  private builder(settings: Settings, objects: readonly string[]): string {
    const name = `${settings.name}-image-builder`;
    const role = new iam.Role(this, 'Role', {
      roleName: name,
      assumedBy: new iam.ServicePrincipal('ec2.amazonaws.com'),
      description: 'Machines that build images of relays: the SSM agent, the component and what it fetches',
    });
    allow(role, buildImages(settings, objects));
    new iam.CfnInstanceProfile(this, 'InstanceProfile', { instanceProfileName: name, roles: [role.roleName] });
    return name;
  }

  private expire(settings: Settings): void {
    const role = new iam.Role(this, 'LifecycleRole', {
      assumedBy: new iam.ServicePrincipal('imagebuilder.amazonaws.com'),
      description: 'Deletes old images of relays and their snapshots',
    });
    allow(role, expireImages(settings));
    new imagebuilder.CfnLifecyclePolicy(this, 'Lifecycle', {
      name: `${settings.name}-relay-images`,
      resourceType: 'AMI_IMAGE',
      status: 'ENABLED',
      executionRole: role.roleArn,
      policyDetails: [
        {
          action: { type: 'DELETE', includeResources: { amis: true, snapshots: true } },
          filter: { type: 'COUNT', value: KEPT_IMAGES },
        },
      ],
      resourceSelection: { tagMap: { [DEPLOYMENT_TAG]: settings.name } },
    });
  }
}

/** What every machine is launched with that the deployment launches: IMDSv2, an encrypted disk, tags, and an end of its own. */

import { Fn } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as iam from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { Settings } from '../config';
import { allTags, Architecture, DISK_KEY, launchedImage } from '../names';

export interface Launched {
  readonly name: string;
  readonly profile: iam.CfnInstanceProfile;
  readonly userData: string;
}

/** Adds the template of a processor. No network is in it: subnet and groups come with each launch. */
export function addLaunchTemplate(scope: Construct, settings: Settings, architecture: Architecture, launched: Launched): void {
  const tags = [...Object.entries(allTags(settings)).map(([key, value]) => ({ key, value })), { key: 'Name', value: launched.name }];
  new ec2.CfnLaunchTemplate(scope, `LaunchTemplate${architecture === 'x86_64' ? '' : 'Arm64'}`, {
    launchTemplateName: launched.name,
    tagSpecifications: [{ resourceType: 'launch-template', tags }],
    launchTemplateData: {
      // Read at each launch, so that a new image, with its patches, needs no deployment.
      imageId: `resolve:ssm:${launchedImage(settings, architecture)}`,
      iamInstanceProfile: { arn: launched.profile.attrArn },
      instanceInitiatedShutdownBehavior: 'terminate',
      metadataOptions: { httpEndpoint: 'enabled', httpTokens: 'required', httpPutResponseHopLimit: 1 },
      blockDeviceMappings: [
        {
          deviceName: '/dev/xvda',
          ebs: { volumeType: 'gp3', volumeSize: 8, encrypted: true, kmsKeyId: DISK_KEY, deleteOnTermination: true },
        },
      ],
      tagSpecifications: [
        { resourceType: 'instance', tags },
        { resourceType: 'volume', tags },
      ],
      userData: Fn.base64(launched.userData),
    },
  });
}

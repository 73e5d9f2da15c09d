/** What building and expiring our own images of relays needs. */

import { Aws } from 'aws-cdk-lib';
import { Settings } from '../config';
import { AMAZON_LINUX, arn, DEPLOYMENT_TAG, launchedImage } from '../names';
import { Access } from './access';
import { ssmAgent } from './agent';
import { fetchAssets } from './assets';
import { anywhere } from './regions';

/**
 * Beside the agent's channels what AmazonSSMManagedInstanceCore grants, which Image Builder asks of the machines that build; but
 * that policy also reads every parameter of the account, and of these only Amazon's own are left.
 */
function managedInstance(): Access[] {
  return [
    ssmAgent(),
    {
      actions: [
        'ssm:DescribeAssociation',
        'ssm:DescribeDocument',
        'ssm:GetDeployablePatchSnapshotForInstance',
        'ssm:GetDocument',
        'ssm:GetManifest',
        'ssm:ListAssociations',
        'ssm:ListInstanceAssociations',
        'ssm:PutComplianceItems',
        'ssm:PutConfigurePackageResult',
        'ssm:PutInventory',
        'ssm:UpdateAssociationStatus',
        'ssm:UpdateInstanceAssociationStatus',
        'ec2messages:AcknowledgeMessage',
        'ec2messages:DeleteMessage',
        'ec2messages:FailMessage',
        'ec2messages:GetEndpoint',
        'ec2messages:GetMessages',
        'ec2messages:SendReply',
      ],
      resources: ['*'],
      why: 'Image Builder drives the machine by the SSM agent. Its documents and associations have no names beforehand.',
    },
    {
      actions: ['ssm:GetParameter', 'ssm:GetParameters'],
      resources: [`arn:${Aws.PARTITION}:ssm:*::parameter/aws/*`],
      why: 'Amazon’s public parameters are of no account.',
    },
  ];
}

/** For the machines that build: the agent's channels, our component, Image Builder's tools, and the files by name. */
export function buildImages(settings: Settings, objects: readonly string[]): Access[] {
  return [
    ...managedInstance(),
    ...fetchAssets(settings.homeRegion, objects),
    {
      actions: ['s3:GetObject'],
      resources: [`arn:${Aws.PARTITION}:s3:::ec2imagebuilder*`],
      why: 'Each region has a bucket of Amazon’s with the program that runs components.',
    },
    {
      actions: ['imagebuilder:GetComponent'],
      resources: [arn('imagebuilder', settings.homeRegion, `component/${settings.name}-relay-*`)],
      why: 'The ARN of a component ends with its version, which changes with its contents.',
    },
    {
      actions: ['logs:CreateLogGroup', 'logs:CreateLogStream', 'logs:PutLogEvents'],
      resources: [arn('logs', settings.homeRegion, `log-group:/aws/imagebuilder/${settings.name}-relay-*`)],
      why: 'Log streams are named after builds, which are not known at deployment.',
    },
  ];
}

/** For Image Builder, once an image is older than those that are kept: only what carries our tag. */
export function expireImages(settings: Settings): Access[] {
  const regions = settings.regions.map(({ region }) => region);
  const ours = { StringEquals: { [`aws:ResourceTag/${DEPLOYMENT_TAG}`]: settings.name } };
  return [
    {
      actions: ['ec2:DeregisterImage', 'ec2:DescribeImageAttribute', 'ec2:DisableImage'],
      resources: regions.map((region) => `arn:${Aws.PARTITION}:ec2:${region}::image/*`),
      conditions: ours,
      why: 'An image has no id before it is built. Only images with the deployment’s tag are allowed.',
    },
    {
      actions: ['ec2:DeleteSnapshot'],
      resources: regions.map((region) => `arn:${Aws.PARTITION}:ec2:${region}::snapshot/*`),
      // Snapshots of an image get the tags that Image Builder sets, and not ours.
      conditions: { StringEquals: { 'aws:ResourceTag/CreatedBy': 'EC2 Image Builder' } },
      why: 'A snapshot has no id before it is made. Only snapshots that Image Builder made are allowed.',
    },
    {
      actions: ['imagebuilder:DeleteImage'],
      resources: [arn('imagebuilder', settings.homeRegion, `image/${settings.name}-relay-*`)],
      why: 'The ARN of an image ends with the number of its build.',
    },
    {
      actions: ['ec2:DescribeImages', 'tag:GetResources'],
      resources: ['*'],
      why: 'AWS evaluates these listing actions without a resource.',
    },
  ];
}

/** Whoever launches relays: EC2 reads the image's id with the caller's permissions. */
export function readImages(settings: Settings): Access {
  const actions = ['ssm:GetParameters'];
  if (settings.relayImage !== 'built') {
    const resources = [`arn:${Aws.PARTITION}:ssm:*::parameter${AMAZON_LINUX}*`];
    // One pattern in place of an ARN for each region and architecture: ten regions would fill a policy.
    return { actions, resources, why: 'These parameters are Amazon’s and public. They name its images in every region.' };
  }
  return {
    actions,
    resources: settings.architectures.map((architecture) =>
      anywhere('ssm', `parameter${launchedImage(settings, architecture)}`),
    ),
    why: 'Each enrolled region has the parameter under this name. Calls to any other region are refused.',
  };
}

/** What functions may do with EC2 in each enrolled region: see, launch, open paths between, and terminate relays. */

import { Aws } from 'aws-cdk-lib';
import { arn, DEPLOYMENT_TAG, poolRoleName, relayRoleName, serviceNames } from '../names';
import { Settings } from '../config';
import { Access } from './access';
import { readImages } from './images';
import { anywhere } from './regions';

type Described =
  | 'Instances'
  | 'InstanceTypes'
  | 'InstanceTypeOfferings'
  | 'RouteTables'
  | 'SecurityGroups'
  | 'SecurityGroupRules'
  | 'SpotPriceHistory'
  | 'Subnets';

/** Read-only calls, which EC2 authorises without a resource. */
export function describe(...what: readonly Described[]): Access {
  return {
    actions: what.map((name) => `ec2:Describe${name}`),
    resources: ['*'],
    why: 'EC2 evaluates its Describe actions without a resource.',
  };
}

/** RunInstances of relays only: our launch template, role, types, tag, encrypted disks and IMDSv2; and its tagging. */
export function launchRelays(settings: Settings): Access[] {
  return launchAs(settings, settings.regions.map(({ region }) => relayRoleName(settings, region)));
}

/** The same for nodes of the pool, which have a role of their own. */
export function launchNodes(settings: Settings): Access[] {
  return launchAs(settings, settings.pool.map(({ region }) => poolRoleName(settings, region)));
}

function launchAs(settings: Settings, roles: readonly string[]): Access[] {
  const ec2 = (resource: string): string => anywhere('ec2', resource);
  const run: Run = (resources, why, conditions) => ({
    actions: ['ec2:RunInstances'],
    resources,
    why,
    ...(conditions && { conditions }),
  });
  return [
    run([ec2('instance/*')], 'An instance has no id before its launch. Its type, role, tag and IMDSv2 are conditions.', {
      StringEquals: {
        [`aws:RequestTag/${DEPLOYMENT_TAG}`]: settings.name,
        'ec2:InstanceType': settings.instanceTypes,
        'ec2:MetadataHttpTokens': 'required',
      },
      ArnEquals: { 'ec2:InstanceProfile': roles.map((role) => arn('iam', '', `instance-profile/${role}`)) },
    }),
    run([ec2('volume/*')], 'A volume has no id before its launch. It must be encrypted.', {
      Bool: { 'ec2:Encrypted': 'true' },
    }),
    run(
      [ec2('network-interface/*'), ec2('spot-instances-request/*')],
      'Network interfaces and spot requests have no id before the launch.',
    ),
    run(
      [ec2('launch-template/*'), ec2('security-group/*')],
      'Other stacks make these resources, so their ids are not known here. Only those with the deployment’s tag are allowed.',
      ours(settings),
    ),
    ...ownSubnets(settings),
    ...existingSubnets(settings).map((resources) =>
      run(resources, 'A subnet that is shared has the ARN of its owner’s account. No other subnet has its id.'),
    ),
    launchFrom(settings, run),
    readImages(settings),
    {
      actions: ['ec2:CreateTags'],
      resources: [ec2('instance/*'), ec2('volume/*')],
      conditions: {
        StringEquals: { 'ec2:CreateAction': 'RunInstances', [`aws:RequestTag/${DEPLOYMENT_TAG}`]: settings.name },
      },
      why: 'They have no id before their launch. Tags can be set only during a launch, and only with the deployment’s tag.',
    },
    {
      actions: ['iam:PassRole'],
      resources: roles.map((role) => arn('iam', '', `role/${role}`)),
      conditions: { StringEquals: { 'iam:PassedToService': serviceNames('ec2') } },
    },
  ];
}

type Run = (resources: readonly string[], why: string, conditions?: Access['conditions']) => Access;

/** The image: Amazon's, or one that our pipeline has built. */
function launchFrom(settings: Settings, run: Run): Access {
  const images = [`arn:${Aws.PARTITION}:ec2:*::image/*`];
  if (settings.relayImage === 'built') {
    const why = 'The pipeline builds new images. Only images with the deployment’s tag are allowed.';
    return run(images, why, ours(settings));
  }
  const amazons = { StringEquals: { 'ec2:Owner': 'amazon' } };
  return run(images, 'Amazon replaces its images. Only images that Amazon owns are allowed.', amazons);
}

/** TerminateInstances of what carries the deployment's tag. */
export function terminateRelays(settings: Settings): Access {
  return {
    actions: ['ec2:TerminateInstances'],
    resources: [anywhere('ec2', 'instance/*')],
    conditions: ours(settings),
    why: 'Relays have no id before their launch. Only instances with the deployment’s tag can be terminated.',
  };
}

/** Ingress rules for single addresses in the deployment's own groups, tagged with their transfer. */
export function openPaths(settings: Settings): Access[] {
  const authorize = 'AuthorizeSecurityGroupIngress';
  const tagged = { [`aws:RequestTag/${DEPLOYMENT_TAG}`]: settings.name };
  const rules = {
    resources: [anywhere('ec2', 'security-group-rule/*')],
    why: 'A rule has no id before it is made. It can be tagged only when it is made, and only with the deployment’s tag.',
  };
  return [
    changeGroups(settings, authorize),
    { ...rules, actions: [`ec2:${authorize}`], conditions: { StringEquals: tagged } },
    {
      ...rules,
      actions: ['ec2:CreateTags'],
      conditions: { StringEquals: { 'ec2:CreateAction': authorize, ...tagged } },
    },
  ];
}

/** Revoking of rules in groups that carry our tag: EC2 authorises it on the group alone, not on the rule. */
export function closePaths(settings: Settings): Access {
  return changeGroups(settings, 'RevokeSecurityGroupIngress');
}

function changeGroups(settings: Settings, action: string): Access {
  return {
    actions: [`ec2:${action}`],
    resources: [anywhere('ec2', 'security-group/*')],
    conditions: ours(settings),
    why: 'Other stacks make the groups, so their ids are not known here. Only groups with the deployment’s tag can be changed.',
  };
}

function ours(settings: Settings): NonNullable<Access['conditions']> {
  return { StringEquals: { [`ec2:ResourceTag/${DEPLOYMENT_TAG}`]: settings.name } };
}

/** Launches into subnets that the deployment makes, where it makes any; they carry its tag. */
function ownSubnets(settings: Settings): Access[] {
  const regions = settings.regions.filter(({ network }) => network.kind === 'new').map(({ region }) => region);
  if (regions.length === 0) return [];
  const everywhere = regions.length === settings.regions.length;
  const { StringEquals: tagged } = ours(settings);
  return [
    {
      actions: ['ec2:RunInstances'],
      resources: [anywhere('ec2', 'subnet/*')],
      conditions: { StringEquals: everywhere ? { ...tagged } : { ...tagged, 'aws:RequestedRegion': regions } },
      why: 'Other stacks make these resources, so their ids are not known here. Only those with the deployment’s tag are allowed.',
    },
  ];
}

/** Subnets of enrolled VPCs, by id alone and of any account: Resource Access Manager shares them. No list when there are none. */
function existingSubnets(settings: Settings): string[][] {
  const arns = settings.regions.flatMap(({ network }) =>
    network.kind === 'existing' ? network.subnetIds.map((id) => `arn:${Aws.PARTITION}:ec2:*:*:subnet/${id}`) : [],
  );
  return arns.length === 0 ? [] : [arns];
}

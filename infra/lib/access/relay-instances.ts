/** What functions may do with EC2 in each enrolled region: see, launch, open paths between, and terminate relays. */

import { Aws } from 'aws-cdk-lib';
import { arn, DEPLOYMENT_TAG, relayRoleName } from '../names';
import { RegionSettings, Settings } from '../config';
import { Access } from './access';

type Operator = Record<string, string | readonly string[]>;

/** Read-only calls that EC2 authorises without a resource. */
export function describeInstances(...also: readonly string[]): Access {
  return {
    actions: ['DescribeInstances', ...also].map((action) => `ec2:${action}`),
    resources: ['*'],
    why: 'EC2 evaluates its Describe actions without a resource',
  };
}

/** Calls that find the end machine's subnet and the groups of the deployment in its VPC. */
export function describeNetwork(): Access {
  return describeInstances('DescribeSubnets', 'DescribeSecurityGroups', 'DescribeSecurityGroupRules', 'DescribeVpcs');
}

/** RunInstances of relays only: our launch template, role, types, tag, encrypted disks and IMDSv2; and the tagging that goes with it. */
export function launchRelays(settings: Settings): Access[] {
  return settings.regions.flatMap((region) => launchIn(settings, region));
}

function launchIn(settings: Settings, { region, network }: RegionSettings): Access[] {
  const ec2 = (resource: string): string => arn('ec2', region, resource);
  const ours = { StringEquals: { [`ec2:ResourceTag/${DEPLOYMENT_TAG}`]: settings.name } };
  const profile: Operator = { 'ec2:InstanceProfile': arn('iam', '', `instance-profile/${relayRoleName(settings, region)}`) };
  const run = (resources: readonly string[], why: string, conditions?: Access['conditions']): Access => ({
    actions: ['ec2:RunInstances'], resources, why, ...(conditions && { conditions }),
  });
  return [
    run([ec2('instance/*')], 'an instance has no id before its launch; type, role, tag and IMDSv2 are conditions', {
      StringEquals: {
        [`aws:RequestTag/${DEPLOYMENT_TAG}`]: settings.name,
        'ec2:InstanceType': settings.instanceTypes,
        'ec2:MetadataHttpTokens': 'required',
      },
      ArnEquals: profile,
    }),
    run([ec2('volume/*')], 'a volume has no id before its launch; it must be encrypted', { Bool: { 'ec2:Encrypted': 'true' } }),
    run([ec2('network-interface/*')], 'an interface has no id before its launch'),
    run([ec2('launch-template/*')], 'the id of the template is made in another region; its tag is the condition', ours),
    run([ec2('security-group/*')], 'the ids of the groups are made in another region; their tag is the condition', ours),
    network.kind === 'existing'
      ? run(network.subnetIds.map((id) => ec2(`subnet/${id}`)), '')
      : run([ec2('subnet/*')], 'the ids of the subnets are made in another region; their tag is the condition', ours),
    run([`arn:${Aws.PARTITION}:ec2:${region}::image/*`], 'Amazon replaces its images; only images that Amazon owns are allowed', {
      StringEquals: { 'ec2:Owner': 'amazon' },
    }),
    {
      actions: ['ec2:CreateTags'],
      resources: [ec2('instance/*'), ec2('volume/*'), ec2('network-interface/*')],
      conditions: { StringEquals: { 'ec2:CreateAction': 'RunInstances', [`aws:RequestTag/${DEPLOYMENT_TAG}`]: settings.name } },
      why: 'only while launching, only with our tag',
    },
    {
      actions: ['iam:PassRole'],
      resources: [arn('iam', '', `role/${relayRoleName(settings, region)}`)],
      conditions: { StringEquals: { 'iam:PassedToService': 'ec2.amazonaws.com' } },
    },
  ];
}

/** TerminateInstances of what carries the deployment's tag. */
export function terminateRelays(settings: Settings): Access {
  return {
    actions: ['ec2:TerminateInstances'],
    resources: settings.regions.map(({ region }) => arn('ec2', region, 'instance/*')),
    conditions: { StringEquals: { [`ec2:ResourceTag/${DEPLOYMENT_TAG}`]: settings.name } },
    why: 'relays have no id before their launch; only instances with our tag can be terminated',
  };
}

/** Rules for single addresses in the deployment's own groups, tagged with their transfer. */
export function openPaths(settings: Settings): Access[] {
  return [
    changeRules(settings, 'ec2:AuthorizeSecurityGroupIngress'),
    {
      actions: ['ec2:CreateTags'],
      resources: settings.regions.map(({ region }) => arn('ec2', region, 'security-group-rule/*')),
      conditions: { StringEquals: { 'ec2:CreateAction': 'AuthorizeSecurityGroupIngress' } },
      why: 'only while a rule is made',
    },
  ];
}

export function closePaths(settings: Settings): Access {
  return changeRules(settings, 'ec2:RevokeSecurityGroupIngress');
}

function changeRules(settings: Settings, action: string): Access {
  return {
    actions: [action],
    resources: settings.regions.map(({ region }) => arn('ec2', region, 'security-group/*')),
    conditions: { StringEquals: { [`ec2:ResourceTag/${DEPLOYMENT_TAG}`]: settings.name } },
    why: 'the ids of the groups are made in other regions; only groups with our tag can be changed',
  };
}

import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { DOCUMENTS } from '../../infra/lib/names';
import { resources, sharedEnvironment, statements, statementsOf, synthesize, text } from './synthesis';

const EXISTING = {
  vpcId: 'vpc-0123456789abcdef0',
  availabilityZones: ['us-west-2a'],
  subnetIds: ['subnet-0123456789abcdef0'],
};
const shipped = synthesize();

describe.each(['us-west-2', 'eu-west-1'])('region %s', (region) => {
  const template = shipped.region(region);

  it('has every document', () => {
    const names = Object.values(resources(template, 'AWS::SSM::Document')).map(({ Name }) => Name);
    expect(names.sort()).toEqual(DOCUMENTS.map((document) => `cpt-${document}`).sort());
  });

  it('has documents that run the region’s own daemon and take no other', () => {
    for (const { Name, Content } of Object.values(resources(template, 'AWS::SSM::Document'))) {
      const { parameters, mainSteps } = Content as {
        parameters: Record<string, unknown>;
        mainSteps: { inputs: { runCommand: unknown[] } }[];
      };
      expect(Object.keys(parameters).filter((name) => !['TransferId', 'Command', 'Answer', 'CpuQuota', 'CpuWeight', 'IoWeight'].includes(name))).toEqual([]);
      const lines = mainSteps.flatMap(({ inputs }) => inputs.runCommand.map(text));
      const fixed = lines.filter((line) => line.startsWith('readonly daemon_')).join(' ');
      if (Name === 'cpt-stop' || Name === 'cpt-log') expect(fixed).toBe('');
      else
        expect(fixed).toMatch(
          new RegExp(`uri_x86_64='s3://cdk-hnb659fds-assets-<AWS::AccountId>-${region}/[0-9a-f]{64}[^']*' .*x86_64='[0-9a-f]{64}'`),
        );
    }
  });

  it('launches relays with IMDSv2, an encrypted disk, an end of life, and no network', () => {
    template.hasResourceProperties('AWS::EC2::LaunchTemplate', {
      LaunchTemplateName: 'cpt-relay',
      LaunchTemplateData: {
        MetadataOptions: { HttpTokens: 'required', HttpPutResponseHopLimit: 1 },
        BlockDeviceMappings: [{ Ebs: { Encrypted: true, VolumeType: 'gp3', DeleteOnTermination: true } }],
        InstanceInitiatedShutdownBehavior: 'terminate',
        UserData: { 'Fn::Base64': Match.stringLikeRegexp('^#!/bin/bash\nshutdown -P \\+15\n') },
        NetworkInterfaces: Match.absent(),
        SecurityGroupIds: Match.absent(),
        InstanceType: Match.absent(),
      },
    });
  });

  it('opens nothing to anybody, and lets out HTTPS and lanes only', () => {
    const groups = Object.values(resources(template, 'AWS::EC2::SecurityGroup'));
    expect(groups.map(({ GroupName }) => GroupName).sort()).toEqual(['cpt-endpoint', 'cpt-relay']);
    for (const { SecurityGroupIngress, SecurityGroupEgress } of groups) {
      expect(SecurityGroupIngress).toBeUndefined();
      expect(
        (SecurityGroupEgress as { FromPort: number; ToPort: number }[]).map(({ FromPort, ToPort }) => [FromPort, ToPort]),
      ).toEqual([
        [443, 443],
        [4600, 4615],
      ]);
    }
    expect(resources(template, 'AWS::EC2::SecurityGroupIngress')).toEqual({});
  });

  it('gives relays the SSM agent’s calls and their program, and nothing else', () => {
    const role = Object.entries(resources(template, 'AWS::IAM::Role')).find(
      ([, { RoleName }]) => RoleName === `cpt-relay-${region}`,
    )?.[0];
    const granted = Object.values(resources(template, 'AWS::IAM::Policy'))
      .filter(({ Roles }) => (Roles as unknown[]).map(text).includes(`<${role ?? ''}>`))
      .flatMap(({ PolicyDocument }) => statements(PolicyDocument));
    expect(
      granted
        .flatMap(({ actions }) => actions)
        .filter((action) => !/^(ssmmessages:|ssm:UpdateInstanceInformation$)/.test(action)),
    ).toEqual(['s3:GetObject', 'kms:Decrypt']);
    const [objects] = granted
      .filter(({ actions }) => actions.includes('s3:GetObject'))
      .map((statement) => statement.resources);
    expect(objects).toEqual([
      expect.stringMatching(
        new RegExp(`:s3:::cdk-hnb659fds-assets-<AWS::AccountId>-${region}/[0-9a-f]{64}`),
      ) as unknown,
    ]);
    // Where the account's own key encrypts the bucket: for that object, or with a bucket key for the bucket, by way of S3.
    const object = objects?.[0] ?? '';
    const [limits] = granted
      .filter(({ actions }) => actions.includes('kms:Decrypt'))
      .map(({ condition }) => condition.StringLike ?? {});
    const suffixes = ['amazonaws.com', 'amazonaws.com.cn', 'amazonaws.eu'];
    expect(limits?.['kms:ViaService']).toEqual(suffixes.map((suffix) => `s3.${region}.${suffix}`));
    expect((limits?.['kms:EncryptionContext:aws:s3:arn'] as unknown[]).map(text)).toEqual([object, object.split('/')[0]]);
    template.hasResourceProperties('AWS::IAM::InstanceProfile', { InstanceProfileName: `cpt-relay-${region}` });
  });

  it('forwards what EC2 tells of the end of machines to the home region, with a dead-letter queue of its own', () => {
    const [rule] = Object.values(resources(template, 'AWS::Events::Rule'));
    expect(rule?.Name).toBe('cpt-forward-ec2');
    expect(rule?.EventPattern).toEqual({
      source: ['aws.ec2'],
      'detail-type': ['EC2 Instance State-change Notification', 'EC2 Spot Instance Interruption Warning'],
      detail: { state: [{ exists: false }, 'stopping', 'stopped', 'shutting-down', 'terminated'] },
    });
    const [target] = rule?.Targets as { Arn: unknown; RoleArn: unknown; DeadLetterConfig: { Arn: unknown } }[];
    expect(text(target?.Arn)).toBe('arn:<AWS::Partition>:events:us-west-2:<AWS::AccountId>:event-bus/cpt');
    expect(resources(template, 'AWS::SQS::Queue')).toHaveProperty(
      text(target?.DeadLetterConfig.Arn).replace(/^<(.*)\.Arn>$/, '$1'),
    );
    expect(target?.RoleArn).toBeDefined();
  });

  it('has public subnets in two zones and no NAT gateway', () => {
    expect(
      Object.values(resources(template, 'AWS::EC2::Subnet')).map(({ MapPublicIpOnLaunch }) => MapPublicIpOnLaunch),
    ).toEqual([true, true]);
    template.resourceCountIs('AWS::EC2::NatGateway', 0);
  });

  it('outputs what ends are attached to', () => {
    for (const name of ['VpcId', 'SubnetIds', 'EndpointSecurityGroupId', 'RelaySecurityGroupId'])
      template.hasOutput(name, {});
  });
});

it('regions are apart: distinct address blocks, no name of one in the other', () => {
  const blocks = ['us-west-2', 'eu-west-1'].map(
    (region) => Object.values(resources(shipped.region(region), 'AWS::EC2::VPC'))[0]?.CidrBlock,
  );
  expect(new Set(blocks).size).toBe(2);
  expect(JSON.stringify(shipped.region('us-west-2').toJSON())).not.toContain('eu-west-1');
});

it('a third region comes from the context alone', () => {
  const { region, control } = synthesize({ regions: { 'us-west-2': {}, 'eu-west-1': {}, 'ap-south-1': {} } });
  region('ap-south-1').hasResourceProperties('AWS::EC2::LaunchTemplate', { LaunchTemplateName: 'cpt-relay' });
  expect(Object.keys(resources(region('ap-south-1'), 'AWS::SSM::Document'))).toHaveLength(DOCUMENTS.length);
  expect(JSON.parse(text(sharedEnvironment(control)))).toMatchObject({ REGIONS: ['us-west-2', 'eu-west-1', 'ap-south-1'] });
});

it('without a daemon for arm64 there is one launch template', () => {
  shipped.region('us-west-2').resourceCountIs('AWS::EC2::LaunchTemplate', 1);
});

describe('with a daemon for arm64', () => {
  const template = synthesize({}, { arm64: true }).region('us-west-2');

  it('Arm relays have a template that differs by its name and image alone', () => {
    const found = Object.values(resources(template, 'AWS::EC2::LaunchTemplate'));
    const read = found.map(({ LaunchTemplateName, LaunchTemplateData }) => {
      const { ImageId, TagSpecifications, ...rest } = LaunchTemplateData as Record<string, unknown>;
      return { name: LaunchTemplateName, image: text(ImageId).split('-default-')[1], tags: TagSpecifications, rest };
    });
    expect(read.map(({ name, image }) => [name, image])).toEqual([
      ['cpt-relay', 'x86_64'],
      ['cpt-relay-arm64', 'arm64'],
    ]);
    expect(read[1]?.rest).toEqual(read[0]?.rest);
    expect(JSON.stringify(read[1]?.tags)).toBe(JSON.stringify(read[0]?.tags).replaceAll('cpt-relay', 'cpt-relay-arm64'));
  });

  it('relays may read both daemons', () => {
    const granted = Object.values(resources(template, 'AWS::IAM::Policy'))
      .flatMap(({ PolicyDocument }) => statements(PolicyDocument))
      .filter(({ actions }) => actions.includes('s3:GetObject'));
    expect(granted.map((statement) => new Set(statement.resources).size)).toEqual([2]);
  });
});

it('an existing VPC gets the groups and nothing more', () => {
  const { region, control } = synthesize({ regions: { 'us-west-2': EXISTING } });
  const template = region('us-west-2');
  for (const type of ['AWS::EC2::VPC', 'AWS::EC2::Subnet', 'AWS::EC2::Route']) template.resourceCountIs(type, 0);
  for (const { VpcId } of Object.values(resources(template, 'AWS::EC2::SecurityGroup')))
    expect(VpcId).toBe(EXISTING.vpcId);
  expect(JSON.stringify(control.toJSON())).toContain(`subnet/${EXISTING.subnetIds[0] ?? ''}`);
});

it('machines may ask the name servers of an existing VPC, and no other address by that port', () => {
  const nameServers = ['10.0.0.53', '10.0.1.53'];
  const { region } = synthesize({ regions: { 'us-west-2': { ...EXISTING, nameServers } } });
  for (const group of Object.values(resources(region('us-west-2'), 'AWS::EC2::SecurityGroup'))) {
    const rules = group.SecurityGroupEgress as { FromPort: number; IpProtocol: string; CidrIp: string }[];
    const asked = rules.filter(({ FromPort }) => FromPort === 53);
    expect(asked.map(({ IpProtocol, CidrIp }) => `${IpProtocol} ${CidrIp}`)).toEqual([
      'udp 10.0.0.53/32',
      'tcp 10.0.0.53/32',
      'udp 10.0.1.53/32',
      'tcp 10.0.1.53/32',
    ]);
  }
});

it('another name renames everything', () => {
  const { region, control } = synthesize({ name: 'blue' });
  control.hasResourceProperties('AWS::DynamoDB::Table', { TableName: 'blue-transfers' });
  region('eu-west-1').hasResourceProperties('AWS::SSM::Document', { Name: 'blue-scan' });
  expect(JSON.stringify([control.toJSON(), region('eu-west-1').toJSON()])).not.toMatch(/"cpt-[a-z]/);
});

describe('what an account asks for', () => {
  const permissionsBoundary = 'arn:aws:iam::123456789012:policy/boundary';
  const asked = synthesize({ tags: { 'cost-center': '4711' }, permissionsBoundary, relayImage: 'building' });
  const templates = [asked.control, asked.region('us-west-2'), asked.region('eu-west-1')];

  it('every role has the permissions boundary', () => {
    for (const template of templates) {
      const roles = Object.values(resources(template, 'AWS::IAM::Role'));
      expect(roles.length).toBeGreaterThan(0);
      for (const role of roles) expect(role.PermissionsBoundary).toBe(permissionsBoundary);
    }
  });

  it('without one, none has', () => {
    const roles = Object.values(resources(shipped.control, 'AWS::IAM::Role'));
    expect(roles.filter(({ PermissionsBoundary }) => PermissionsBoundary !== undefined)).toEqual([]);
  });

  it('the tags are on whatever carries the deployment’s own', () => {
    for (const template of templates) {
      const all = Object.values(template.toJSON().Resources as Record<string, { Properties?: { Tags?: unknown } }>);
      const ours = all.map(({ Properties }) => JSON.stringify(Properties?.Tags ?? '')).filter((tags) => tags.includes('cpt:deployment'));
      expect(ours.length).toBeGreaterThan(5);
      for (const tags of ours) expect(tags).toMatch(/"cost-center","Value":"4711"|"cost-center":"4711"/);
    }
  });

  it('relays and their disks get the tags from their launch template', () => {
    const [template] = Object.values(resources(asked.region('eu-west-1'), 'AWS::EC2::LaunchTemplate'));
    const data = template?.LaunchTemplateData as { TagSpecifications: { ResourceType: string; Tags: object[] }[] };
    expect(data.TagSpecifications.map(({ ResourceType }) => ResourceType)).toEqual(['instance', 'volume']);
    for (const { Tags } of data.TagSpecifications) expect(Tags).toContainEqual({ Key: 'cost-center', Value: '4711' });
  });
});

it('existing subnets are where relays may be launched, and nowhere else', () => {
  const { control } = synthesize({ regions: { 'us-west-2': EXISTING } });
  const launch = statementsOf(control, 'cpt-spawn-relays').filter(({ actions }) => actions.includes('ec2:RunInstances'));
  const subnets = launch.flatMap(({ resources: arns }) => arns.filter((arn) => arn.includes(':subnet/')));
  expect(subnets).toEqual(EXISTING.subnetIds.map((id) => `arn:<AWS::Partition>:ec2:*:*:subnet/${id}`));
});

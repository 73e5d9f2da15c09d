import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { resources, ROOT, statements, statementsOf, synthesize, Synthesis, text } from './synthesis';

// The actions of AWS's managed policy, from moto's copy of it.
const MANAGED_INSTANCE = `
import json
from moto.iam.aws_managed_policies import aws_managed_policies_data
statements = json.loads(aws_managed_policies_data)["AmazonSSMManagedInstanceCore"]["Document"]["Statement"]
print(json.dumps([action for one in statements for action in one["Action"]]))
`;
const HOME = 'us-west-2';
const stock = synthesize();
const built = synthesize({ relayImage: 'built' }, { nag: true, arm64: true });

interface Component {
  readonly phases: { name: string; steps: { action: string; inputs: { source: string }[] | { commands: string[] } }[] }[];
}

function components(template: Template): Component[] {
  const found = Object.values(resources(template, 'AWS::ImageBuilder::Component'));
  return found.map(({ Data }) => JSON.parse(text(Data)) as Component);
}

const version = ({ region }: Synthesis): unknown =>
  Object.values(resources(region(HOME), 'AWS::ImageBuilder::Component'))[0]?.Version;

it('by default there is no pipeline, and relays start from Amazon’s image of the day of their launch', () => {
  expect(JSON.stringify(stock.region(HOME).toJSON())).not.toContain('ImageBuilder');
  expect(images(stock)).toEqual([
    'resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64',
  ]);
});

it('whoever launches relays may read the parameters that name Amazon’s images, and no other', () => {
  for (const name of ['cpt-spawn-relays', 'cpt-replace-relay', 'cpt-grow-relays', 'cpt-replan-routes']) {
    const parameters = statementsOf(stock.control, name).filter(({ actions }) => actions.includes('ssm:GetParameters'));
    expect(parameters.flatMap((one) => one.resources)).toEqual([
      'arn:<AWS::Partition>:ssm:*::parameter/aws/service/ami-amazon-linux-latest/*',
    ]);
  }
});

it('while images are being built, relays still start from Amazon’s', () => {
  const building = synthesize({ relayImage: 'building' });
  building.region(HOME).resourceCountIs('AWS::ImageBuilder::ImagePipeline', 1);
  expect(images(building)).toEqual(images(stock));
});

describe('our own image', () => {
  it('has a pipeline per architecture in the home region, and none elsewhere', () => {
    const pipelines = Object.values(resources(built.region(HOME), 'AWS::ImageBuilder::ImagePipeline'));
    expect(pipelines.map(({ Name }) => Name)).toEqual(['cpt-relay-x86-64', 'cpt-relay-arm64']);
    expect(JSON.stringify(built.region('eu-west-1').toJSON())).not.toContain('AWS::ImageBuilder');
  });

  it('is distributed to every region, whose parameter names the latest', () => {
    const [distribution] = Object.values(resources(built.region(HOME), 'AWS::ImageBuilder::DistributionConfiguration'));
    const parameter = { ParameterName: '/imagebuilder/cpt/relay-x86_64', DataType: 'aws:ec2:image' };
    const ours = { AmiTags: { 'cpt:deployment': 'cpt' } };
    expect(distribution?.Distributions).toMatchObject([
      { Region: HOME, SsmParameterConfigurations: [parameter], AmiDistributionConfiguration: ours },
      { Region: 'eu-west-1', SsmParameterConfigurations: [parameter], AmiDistributionConfiguration: ours },
    ]);
  });

  it('is what relays start from, whichever is the latest at their launch', () => {
    for (const region of [HOME, 'eu-west-1']) {
      expect(images(built, region)).toEqual([
        'resolve:ssm:/imagebuilder/cpt/relay-x86_64',
        'resolve:ssm:/imagebuilder/cpt/relay-arm64',
      ]);
    }
  });

  it('begins from the minimal Amazon Linux 2023, keeps its agent, and is encrypted', () => {
    const [recipe] = Object.values(resources(built.region(HOME), 'AWS::ImageBuilder::ImageRecipe'));
    expect(recipe?.ParentImage).toMatch(/^ssm:.*al2023-ami-minimal-kernel-default-x86_64$/);
    expect(recipe?.AdditionalInstanceConfiguration).toEqual({ SystemsManagerAgent: { UninstallAfterBuild: false } });
    expect(recipe?.BlockDeviceMappings).toMatchObject([{ Ebs: { Encrypted: true } }]);
  });

  it('is built, validated, and tested once it has started, by the scripts of relay-ami/image', () => {
    for (const { phases } of components(built.region(HOME))) {
      expect(phases.map(({ name }) => name)).toEqual(['build', 'validate', 'test']);
      const told = JSON.stringify(phases);
      for (const script of ['packages.sh', 'build.sh', 'validate.sh files', 'validate.sh booted'])
        expect(told).toContain(script);
    }
  });

  it('fetches while it is built, from the asset bucket, what the builder may read: nothing else, and nothing later', () => {
    const template = built.region(HOME);
    const fetched = components(template).flatMap(({ phases }) =>
      phases.flatMap(({ name, steps }) =>
        steps.filter(({ action }) => action === 'S3Download').map(({ inputs }) => ({ name, inputs })),
      ),
    );
    expect(new Set(fetched.map(({ name }) => name))).toEqual(new Set(['build']));
    const sources = fetched.flatMap(({ inputs }) => (inputs as { source: string }[]).map(({ source }) => source));
    const role = rolePolicies(template, /ImagesRole/);
    const readable = role.filter(({ actions }) => actions.includes('s3:GetObject')).flatMap((one) => one.resources);
    for (const source of sources) expect(readable).toContain(source.replace('s3://', 'arn:<AWS::Partition>:s3:::'));
    expect(new Set(readable).size).toBe(new Set(sources).size + 1);
  });

  it('is built by machines that may do what Image Builder asks of a managed instance, and read only Amazon’s parameters', () => {
    const asked = JSON.parse(
      execFileSync(path.join(ROOT, '.venv', 'bin', 'python'), ['-c', MANAGED_INSTANCE], { encoding: 'utf8' }),
    ) as string[];
    const granted = rolePolicies(built.region(HOME), /ImagesRole/);
    const agents = granted.filter(({ actions }) => actions.some((action) => /^(ssm|ssmmessages|ec2messages):/.test(action)));
    expect(asked).toContain('ssm:PutInventory');
    expect(agents.flatMap(({ actions }) => actions).sort()).toEqual(asked.sort());
    const reading = granted.filter(({ actions }) => actions.some((action) => action.startsWith('ssm:GetParameter')));
    expect(reading.flatMap((one) => one.resources)).toEqual(['arn:<AWS::Partition>:ssm:*::parameter/aws/*']);
  });

  it('has no inventory taken, for which each build would need more permissions', () => {
    for (const pipeline of Object.values(resources(built.region(HOME), 'AWS::ImageBuilder::ImagePipeline')))
      expect(pipeline.EnhancedImageMetadataEnabled).toBe(false);
  });

  it('another daemon is another version', () => {
    expect(version(built)).toMatch(/^1\.0\.\d{1,9}$/);
    const [x86, arm] = Object.values(resources(built.region(HOME), 'AWS::ImageBuilder::Component'));
    expect(x86?.Version).not.toBe(arm?.Version);
    expect(version(synthesize({ relayImage: 'building' }))).toBe(version(built));
  });

  it('is launched by those who launch relays, only with our tag', () => {
    for (const name of ['cpt-spawn-relays', 'cpt-replace-relay', 'cpt-grow-relays', 'cpt-replan-routes']) {
      const granted = statementsOf(built.control, name);
      const launch = granted.filter(
        ({ actions, resources: on }) => actions.includes('ec2:RunInstances') && on.some((arn) => arn.includes('image/')),
      );
      expect(launch.map(({ condition }) => condition)).toEqual([
        { StringEquals: { 'ec2:ResourceTag/cpt:deployment': 'cpt' } },
      ]);
      const parameters = granted.filter(({ actions }) => actions.includes('ssm:GetParameters'));
      expect(parameters.flatMap((one) => one.resources)).toEqual(
        ['arm64', 'x86_64'].map((processor) => expect.stringMatching(new RegExp(`:ssm:\\*:.*:parameter/imagebuilder/cpt/relay-${processor}$`)) as unknown),
      );
    }
  });

  it('goes, with its snapshots, once three newer ones are there; only ours can', () => {
    const [policy] = Object.values(resources(built.region(HOME), 'AWS::ImageBuilder::LifecyclePolicy'));
    expect(policy?.PolicyDetails).toEqual([
      {
        Action: { Type: 'DELETE', IncludeResources: { Amis: true, Snapshots: true } },
        Filter: { Type: 'COUNT', Value: 3 },
      },
    ]);
    expect(policy?.ResourceSelection).toEqual({ TagMap: { 'cpt:deployment': 'cpt' } });
    const role = rolePolicies(built.region(HOME), /LifecycleRole/);
    const changing = role.filter(({ actions }) => actions.some((action) => /^ec2:(Deregister|Delete)/.test(action)));
    for (const { condition } of changing) expect(Object.keys(condition)).toEqual(['StringEquals']);
    expect(changing).toHaveLength(2);
  });

  it('needs the home region’s network', () => {
    expect(() => synthesize({ homeRegion: 'us-east-1', relayImage: 'building' })).toThrow(
      'context key "cpt.relayImage" is "building": images are built in the home region\'s network: enrol us-east-1',
    );
  });

  it('passes cfn-lint', () => {
    const scratch = path.join(ROOT, '.cache', 'synth');
    mkdirSync(scratch, { recursive: true });
    const folder = mkdtempSync(path.join(scratch, 'image-'));
    try {
      const file = path.join(folder, 'region.template.json');
      writeFileSync(file, JSON.stringify(built.region(HOME).toJSON()));
      const lint = path.join(ROOT, '.venv', 'bin', 'cfn-lint');
      expect(() => execFileSync(lint, ['--config-file', path.join(ROOT, '.cfnlintrc.yaml'), file])).not.toThrow();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }, 120_000);
});

/** Image of each launch template. */
function images({ region }: Synthesis, name = HOME): unknown[] {
  const templates = Object.values(resources(region(name), 'AWS::EC2::LaunchTemplate'));
  return templates.map(({ LaunchTemplateData }) => (LaunchTemplateData as { ImageId: unknown }).ImageId);
}

function rolePolicies(template: Template, role: RegExp): ReturnType<typeof statements> {
  return Object.values(resources(template, 'AWS::IAM::Policy'))
    .filter(({ Roles }) => (Roles as unknown[]).some((one) => role.test(text(one))))
    .flatMap(({ PolicyDocument }) => statements(PolicyDocument));
}

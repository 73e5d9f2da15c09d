/** The pipeline that builds the image of relays for one architecture, and tells every region by a parameter. */

import { createHash } from 'node:crypto';
import * as imagebuilder from 'aws-cdk-lib/aws-imagebuilder';
import * as assets from 'aws-cdk-lib/aws-s3-assets';
import { Construct } from 'constructs';
import { Settings } from '../config';
import { allTags, AMAZON_LINUX, Architecture, arn, DaemonAsset, DISK_KEY, imageName, imageParameter } from '../names';

export interface RelayImageProps {
  readonly settings: Settings;
  readonly architecture: Architecture;
  readonly daemon: DaemonAsset;
  /** `relay-ami/image`. */
  readonly files: assets.Asset;
  /** Where the machine is that builds. */
  readonly subnetId: string;
  readonly securityGroupId: string;
  readonly instanceProfileName: string;
}

// The minimal image is a quarter of the full one; packages.sh adds what relays need of the rest.
const BASE = `${AMAZON_LINUX}al2023-ami-minimal-kernel-default-`;
const BUILDERS: Readonly<Record<Architecture, string>> = { x86_64: 't3.medium', arm64: 't4g.medium' };
const STAGING = '/tmp/cpt-image';
/** First of each month, 04:00 UTC: Amazon's own updates of the base; a new daemon needs none, it is fetched. */
const SCHEDULE = 'cron(0 4 1 * ? *)';

export class RelayImage extends Construct {
  public constructor(scope: Construct, id: string, props: RelayImageProps) {
    super(scope, id);
    const { settings, architecture } = props;
    const name = imageName(settings, architecture);
    const tags = allTags(settings);
    const data = JSON.stringify(component(props));
    // Image Builder takes other contents only under another version; both parts stay below its 2^30.
    const version = `1.0.${parseInt(createHash('sha256').update(fingerprint(props)).digest('hex').slice(0, 7), 16)}`;
    const made = new imagebuilder.CfnComponent(this, 'Component', { name, version, platform: 'Linux', data, tags });
    // Image Builder takes no alias by its bare name.
    const diskKey = arn('kms', settings.homeRegion, DISK_KEY);
    const recipe = new imagebuilder.CfnImageRecipe(this, 'Recipe', {
      name,
      version,
      parentImage: `ssm:${BASE}${architecture}`,
      components: [{ componentArn: made.attrArn }],
      blockDeviceMappings: [
        {
          deviceName: '/dev/xvda',
          ebs: { volumeType: 'gp3', volumeSize: 8, encrypted: true, kmsKeyId: diskKey, deleteOnTermination: true },
        },
      ],
      additionalInstanceConfiguration: { systemsManagerAgent: { uninstallAfterBuild: false } },
      tags,
    });
    const infrastructure = new imagebuilder.CfnInfrastructureConfiguration(this, 'Infrastructure', {
      name,
      instanceProfileName: props.instanceProfileName,
      instanceTypes: [BUILDERS[architecture]],
      instanceMetadataOptions: { httpTokens: 'required', httpPutResponseHopLimit: 1 },
      subnetId: props.subnetId,
      securityGroupIds: [props.securityGroupId],
      terminateInstanceOnFailure: true,
      resourceTags: tags,
      tags,
    });
    const distribution = new imagebuilder.CfnDistributionConfiguration(this, 'Distribution', {
      name,
      distributions: settings.regions.map(({ region }) => ({
        region,
        // Of no type in the CDK, so in CloudFormation's own spelling.
        amiDistributionConfiguration: { Name: `${name} {{ imagebuilder:buildDate }}`, AmiTags: tags },
        ssmParameterConfigurations: [
          { parameterName: imageParameter(settings, architecture), dataType: 'aws:ec2:image' },
        ],
      })),
      tags,
    });
    new imagebuilder.CfnImagePipeline(this, 'Pipeline', {
      name,
      imageRecipeArn: recipe.attrArn,
      infrastructureConfigurationArn: infrastructure.attrArn,
      distributionConfigurationArn: distribution.attrArn,
      // On by default: an inventory of the image's packages, which nobody reads here.
      enhancedImageMetadataEnabled: false,
      imageTestsConfiguration: { imageTestsEnabled: true, timeoutMinutes: 60 },
      schedule: { scheduleExpression: SCHEDULE, pipelineExecutionStartCondition: 'EXPRESSION_MATCH_ONLY' },
      imageTags: tags,
      tags,
    });
  }
}

/** What makes one build differ from another: the daemon and the files. */
function fingerprint({ daemon, files }: RelayImageProps): string {
  return `${daemon.sha256} ${files.assetHash}`;
}

/** The component's document: what is run on the machine that builds, and on one that has started from the image. */
function component({ daemon, files }: RelayImageProps): object {
  const run = (name: string, ...commands: string[]): object => ({ name, action: 'ExecuteBash', inputs: { commands } });
  const fetched = [
    { source: `s3://${daemon.bucket}/${daemon.key}`, destination: `${STAGING}/cpt-relay` },
    { source: `s3://${files.s3BucketName}/${files.s3ObjectKey}`, destination: `${STAGING}/image.zip` },
  ];
  const unpack = `python3 -m zipfile -e ${STAGING}/image.zip ${STAGING}/image`;
  return {
    schemaVersion: '1.0',
    phases: [
      {
        name: 'build',
        steps: [
          run('Stage', `mkdir -p ${STAGING}`),
          { name: 'Fetch', action: 'S3Download', inputs: fetched },
          run('Packages', unpack, `sh ${STAGING}/image/packages.sh`),
          run('Build', `sh ${STAGING}/image/build.sh ${STAGING}/cpt-relay ${daemon.sha256}`),
          run('Clean', `rm -rf ${STAGING}`),
        ],
      },
      { name: 'validate', steps: [run('Files', `sh /opt/cpt/image/validate.sh files ${daemon.sha256}`)] },
      { name: 'test', steps: [run('Booted', 'sh /opt/cpt/image/validate.sh booted')] },
    ],
  };
}

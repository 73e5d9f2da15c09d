/** What each enrolled region has: network, relays, commands, and the way of its events to the home region. */

import { CfnOutput, DefaultStackSynthesizer, Stack } from 'aws-cdk-lib';
import * as sns from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { RegionSettings, Settings } from './config';
import { AlarmTopic } from './constructs/alarm-topic';
import { ringForDeadLetters } from './constructs/dead-letter-queue';
import { EventForwarding } from './constructs/event-forwarding';
import { PoolFleet } from './constructs/pool-fleet';
import { RelayCommands } from './constructs/relay-commands';
import { RelayDaemon } from './constructs/relay-daemon';
import { RelayFleet } from './constructs/relay-fleet';
import { RelayImages } from './constructs/relay-images';
import { RelayNetwork } from './constructs/relay-network';
import { alarmTopicName, arn, RegionDaemons } from './names';

export class RegionStack extends Stack {
  public readonly daemons: RegionDaemons;

  public constructor(scope: Construct, settings: Settings, regionSettings: RegionSettings) {
    const { region } = regionSettings;
    super(scope, `${settings.name}-region-${region}`, {
      env: { region },
      description: `Cloud Parallel Transfer: relays in ${region}`,
      synthesizer: new DefaultStackSynthesizer({ generateBootstrapVersionRule: false }),
    });
    const network = new RelayNetwork(this, 'Network', settings, regionSettings);
    this.daemons = Object.fromEntries(
      settings.architectures.map((name) => [name, new RelayDaemon(this, `Daemon-${name}`, name).asset]),
    );
    new RelayFleet(this, 'Fleet', settings, region, this.daemons);
    const pool = settings.pool.find((entry) => entry.region === region);
    if (pool !== undefined) new PoolFleet(this, 'Pool', settings, pool, this.daemons);
    if (settings.relayImage !== 'stock' && region === settings.homeRegion) {
      new RelayImages(this, 'Images', settings, this.daemons, network);
    }
    new RelayCommands(this, 'Commands', settings, region, this.daemons);
    new EventForwarding(this, 'Events', settings, region);
    ringForDeadLetters(this, this.alarmTopic(settings, region));
    this.output('VpcId', network.vpc.vpcId, 'VPC in which ends and relays are');
    this.output('SubnetIds', network.subnetIds.join(','), 'Subnets of relays');
    this.output(
      'EndpointSecurityGroupId',
      network.endpointGroup.securityGroupId,
      'Attach this group to source and destination machines',
    );
    this.output('RelaySecurityGroupId', network.relayGroup.securityGroupId, 'Group of the relays');
  }

  /** The control stack has one in the home region. */
  private alarmTopic(settings: Settings, region: string): sns.ITopic {
    return region === settings.homeRegion
      ? sns.Topic.fromTopicArn(this, 'Alarms', arn('sns', region, alarmTopicName(settings)))
      : new AlarmTopic(this, 'Alarms', settings, region).topic;
  }

  private output(name: string, value: string, description: string): void {
    new CfnOutput(this, name, { value, description });
  }
}

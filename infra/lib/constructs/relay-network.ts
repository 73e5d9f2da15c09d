/** The enrolled VPC of a region and the two security groups that the control plane finds in it by name. */

import { Tags, Validations } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import { Construct } from 'constructs';
import { RegionSettings, Settings } from '../config';
import { DAEMON_PORTS, DEPLOYMENT_TAG, LAST_LEASE_PORT } from '../names';

export class RelayNetwork extends Construct {
  public readonly vpc: ec2.IVpc;
  public readonly subnetIds: readonly string[];
  public readonly endpointGroup: ec2.SecurityGroup;
  public readonly relayGroup: ec2.SecurityGroup;

  public constructor(scope: Construct, id: string, settings: Settings, { network }: RegionSettings) {
    super(scope, id);
    if (network.kind === 'new') {
      this.vpc = this.newVpc(settings, network.cidr);
      this.subnetIds = this.vpc.publicSubnets.map(({ subnetId }) => subnetId);
    } else {
      this.vpc = ec2.Vpc.fromVpcAttributes(this, 'Vpc', {
        vpcId: network.vpcId,
        availabilityZones: [...network.availabilityZones],
      });
      this.subnetIds = network.subnetIds;
    }
    const nameServers = network.kind === 'existing' ? (network.nameServers ?? []) : [];
    const lastPort = settings.pool.length > 0 ? LAST_LEASE_PORT : DAEMON_PORTS.last;
    this.endpointGroup = this.group(
      'EndpointGroup',
      `${settings.name}-endpoint`,
      'Source and destination machines of CPT',
      nameServers,
      lastPort,
    );
    this.relayGroup = this.group('RelayGroup', `${settings.name}-relay`, 'Relays of CPT', nameServers, lastPort);
    Tags.of(this).add(DEPLOYMENT_TAG, settings.name);
  }

  private newVpc(settings: Settings, cidr: string): ec2.Vpc {
    const vpc = new ec2.Vpc(this, 'Vpc', {
      vpcName: settings.name,
      ipAddresses: ec2.IpAddresses.cidr(cidr),
      maxAzs: 2,
      // Relays have public addresses: a NAT gateway would cost $0.045 for every GB that goes through.
      natGateways: 0,
      subnetConfiguration: [{ name: 'relays', subnetType: ec2.SubnetType.PUBLIC, cidrMask: 20 }],
      // It would add a custom resource; nothing is launched into the default group.
      restrictDefaultSecurityGroup: false,
    });
    Validations.of(vpc).acknowledge({
      id: 'AwsSolutions-VPC7',
      reason: 'Flow logs are the operator’s choice: every lane of every transfer would be billed as vended logs',
    });
    return vpc;
  }

  /** No ingress: rules for single addresses come and go with each transfer. */
  private group(
    id: string,
    securityGroupName: string,
    description: string,
    nameServers: readonly string[],
    lastPort: number,
  ): ec2.SecurityGroup {
    const group = new ec2.SecurityGroup(this, id, {
      vpc: this.vpc,
      securityGroupName,
      description,
      allowAllOutbound: false,
    });
    group.addEgressRule(ec2.Peer.anyIpv4(), ec2.Port.tcp(443), 'AWS APIs');
    group.addEgressRule(ec2.Peer.anyIpv4(), ec2.Port.tcpRange(DAEMON_PORTS.first, lastPort), 'Lanes');
    for (const address of nameServers) {
      const server = ec2.Peer.ipv4(`${address}/32`);
      // Answers that are too long for a datagram come over TCP.
      for (const port of [ec2.Port.udp(53), ec2.Port.tcp(53)]) group.addEgressRule(server, port, 'Name server');
    }
    Tags.of(group).add('Name', securityGroupName);
    return group;
  }
}

/** What the source and destination machines may do; the operator attaches it to their roles. */

import { Aws } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { Access, acknowledgeWildcards, statement } from '../access/access';
import { ssmAgent } from '../access/agent';
import * as data from '../access/control-data';
import { Settings } from '../config';
import { Daemons } from './function-environment';
import { daemonObjectArns } from './relay-daemon';

/** Attributes of the records that daemons write; `control/aws.rs` is the other end of it. */
const AGENT_ATTRIBUTES = [
  'transferId',
  'record',
  'epoch',
  'sequence',
  'document',
  'tlsPublicKey',
  'routePublicKey',
  'address',
  'generation',
  'interRegionMBps',
  'intraRegionMBps',
  'error',
];

/** Neither the fence, the budget nor the outcome of a transfer, nor a lock: an end changes what agents tell, no more. */
const AGENT_RECORDS = {
  'ForAllValues:StringEquals': { 'dynamodb:Attributes': AGENT_ATTRIBUTES },
  'ForAllValues:StringNotLike': { 'dynamodb:LeadingKeys': ['lock#*'] },
};

export class EndpointAccess extends Construct {
  public readonly policy: iam.ManagedPolicy;

  public constructor(scope: Construct, id: string, settings: Settings, daemons: Daemons) {
    super(scope, id);
    const name = `${settings.name}-endpoint`;
    const access: Access[] = [
      data.table(settings, 'transfers', 'GetItem'),
      { ...data.table(settings, 'transfers', 'UpdateItem'), conditions: AGENT_RECORDS },
      data.table(settings, 'chunks', 'BatchGetItem', 'Query', 'UpdateItem'),
      data.transferObjects(settings, 'GetObject', 'PutObject'),
      data.putEvents(settings),
      {
        actions: ['s3:GetObject'],
        resources: Object.values(daemons).flatMap((region) => daemonObjectArns(Aws.PARTITION, region)),
      },
      ssmAgent(),
    ];
    this.policy = new iam.ManagedPolicy(this, 'Policy', {
      managedPolicyName: name,
      description: 'Source and destination machines of Cloud Parallel Transfer',
      statements: access.map(statement),
    });
    acknowledgeWildcards(this.policy, access);
    // A convenience for machines without a role of their own.
    const role = new iam.Role(this, 'Role', {
      roleName: name,
      assumedBy: new iam.ServicePrincipal('ec2.amazonaws.com'),
      managedPolicies: [this.policy],
    });
    new iam.CfnInstanceProfile(this, 'InstanceProfile', { instanceProfileName: name, roles: [role.roleName] });
  }
}

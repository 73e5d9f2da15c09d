/** What the source and destination machines may do; the operator attaches it to their roles. */

import { Aws, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { Access, acknowledgeWildcards, statement } from '../access/access';
import { ssmAgent } from '../access/agent';
import { fetchAssets } from '../access/assets';
import * as data from '../access/control-data';
import { Settings } from '../config';
import { Daemons } from '../function-environment';
import { arn, ENDS_PREFIX } from '../names';

/** ARN of the instance whose role's credentials ask; no other caller's request has it. */
const CALLER = '${ec2:SourceInstanceARN}';

/** Keys of what two ends share: `{source's ARN}+{destination's ARN}+{transfer id}`, and more for chunks. */
const ITS_OWN_KEYS = {
  'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [`${CALLER}+*`, `*+${CALLER}+*`] },
  // ForAllValues holds for a call that names no key at all.
  Null: { 'dynamodb:LeadingKeys': 'false' },
};

/** What ends may put on the bus: hints, which wake whoever then reads the records. Both keys are lists to IAM. */
const AGENT_EVENTS = {
  'ForAllValues:StringEquals': {
    'events:source': 'cpt.agent',
    'events:detail-type': ['Chunk Failed', 'Credentials Wanted', 'Relay Lost', 'Transfer Delivered', 'Transfer Failed'],
  },
  Null: { 'events:source': 'false', 'events:detail-type': 'false' },
};

/** Attributes of the records that daemons write; `control/aws.rs` is the other end of it. */
const AGENT_ATTRIBUTES = [
  'transferId',
  'record',
  'epoch',
  'sequence',
  'document',
  'tlsPublicKey',
  'routePublicKey',
  'sealingPublicKey',
  'address',
  'generation',
  'interRegionMBps',
  'intraRegionMBps',
  'hopsMBps',
  'error',
];

/** Neither membership, fence nor credentials, whose attributes have other names: an end changes what agents tell, no more. */
const AGENT_RECORDS = {
  ...ITS_OWN_KEYS,
  'ForAllValues:StringEquals': { 'dynamodb:Attributes': AGENT_ATTRIBUTES },
};

export class EndpointAccess extends Construct {
  public readonly policy: iam.ManagedPolicy;

  public constructor(scope: Construct, id: string, settings: Settings, daemons: Daemons) {
    super(scope, id);
    const name = `${settings.name}-endpoint`;
    const access: Access[] = [
      { ...data.table(settings, 'transfers', 'GetItem'), conditions: ITS_OWN_KEYS },
      { ...data.table(settings, 'transfers', 'UpdateItem'), conditions: AGENT_RECORDS },
      { ...data.table(settings, 'chunks', 'BatchGetItem', 'Query', 'UpdateItem'), conditions: ITS_OWN_KEYS },
      itsOwnObjects(settings),
      objectsOfMany(settings),
      { ...data.putEvents(settings), conditions: AGENT_EVENTS },
      ...fetchAssets('*', this.daemonArns(daemons)),
      ssmAgent(),
    ];
    this.policy = new iam.ManagedPolicy(this, 'Policy', {
      managedPolicyName: name,
      description: 'Source and destination machines of Cloud Parallel Transfer',
      statements: [...access.map(statement), noNamesOfObjects(settings)],
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

  /** The daemons in the asset bucket of the region that is asked: ten regions by name outgrow a managed policy. */
  private daemonArns(daemons: Daemons): string[] {
    const { bootstrapQualifier } = Stack.of(this).synthesizer;
    const bucket = `cdk-${bootstrapQualifier ?? 'hnb659fds'}-assets-${Aws.ACCOUNT_ID}-\${aws:RequestedRegion}`;
    const keys = new Set(Object.values(daemons).flatMap((region) => Object.values(region).map(({ key }) => key)));
    return [...keys].map((key) => `arn:${Aws.PARTITION}:s3:::${bucket}/${key}`);
  }
}

/**
 * Objects of transfers whose source or destination is the caller. As destination its ARN is the second of the key, and
 * what is before it is as long as one ARN: a `*` there would let the caller's ARN stand in the name of an object of
 * another transfer. Ids of instances have 17 hexadecimal digits, those from before 2016 have 8.
 */
function itsOwnObjects(settings: Settings): Access {
  const lengths = [...new Set(settings.regions.map(({ region }) => region.length))].sort((a, b) => a - b);
  const sources = lengths.flatMap((length) =>
    [17, 8].map((digits) => arn('ec2', '?'.repeat(length), `instance/i-${'?'.repeat(digits)}`)),
  );
  const keys = [`${CALLER}+*`, ...sources.map((source) => `${source}+${CALLER}+*`)];
  return {
    actions: ['s3:GetObject', 's3:PutObject'],
    resources: keys.map((key) => `${data.bucketArn(settings)}/${ENDS_PREFIX}${key}`),
    why: 'The keys contain the ids of machines and transfers, which are not known at deployment.',
  };
}

/** Below it are objects of transfers with more than two machines: `{ARNs, each with a +}{transfer id}=/{name}`. */
const MANY_PREFIX = `${ENDS_PREFIX}many/`;

/** Objects of transfers with more than two machines, of which the caller is one. */
function objectsOfMany(settings: Settings): Access {
  return {
    actions: ['s3:GetObject', 's3:PutObject'],
    resources: [`${CALLER}+*`, `*+${CALLER}+*`].map((key) => `${data.bucketArn(settings)}/${MANY_PREFIX}${key}`),
    why: 'The keys contain the ids of machines and transfers, which are not known at deployment.',
  };
}

/** The caller's ARN stands among the machines, not in the name of an object below another transfer's: only that follows a `=/`. */
function noNamesOfObjects(settings: Settings): iam.PolicyStatement {
  return new iam.PolicyStatement({
    effect: iam.Effect.DENY,
    actions: ['s3:GetObject', 's3:PutObject'],
    resources: [`${data.bucketArn(settings)}/${MANY_PREFIX}*=/*+${CALLER}+*`],
  });
}

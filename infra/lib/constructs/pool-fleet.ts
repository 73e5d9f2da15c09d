/** What nodes of the pool are launched with: a role that reaches their own leases, and user data that serves these. */

import { Aws } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { Access, allow } from '../access/access';
import { ssmAgent } from '../access/agent';
import { fetchAssets } from '../access/assets';
import { PoolSettings, Settings } from '../config';
import { arn, POOL_TABLE, poolRoleName, poolTemplateName, RegionDaemons, tableName } from '../names';
import { addLaunchTemplate } from './launch-template';
import { leaseBounds, leaseScript } from './relay-commands';
import { daemonObjectArns } from './relay-daemon';

/** ARN of the instance whose role's credentials ask; no other caller's request has it. */
const CALLER = '${ec2:SourceInstanceARN}';

/** What a node says of its leases and of itself; `control-aws/src/pool.rs` is the other end of it. */
const SAID_ATTRIBUTES = ['machine', 'record', 'saidAt', 'daemon', 'listeningAt', 'failed', 'stoppedAt', 'applied', 'bytes'];

/** A node lives so long after the last word of the pool and the end of its last lease. */
const SILENT_MINUTES = 15;

export class PoolFleet extends Construct {
  public constructor(scope: Construct, id: string, settings: Settings, pool: PoolSettings, daemons: RegionDaemons) {
    super(scope, id);
    const name = poolRoleName(settings, pool.region);
    const role = new iam.Role(this, 'Role', {
      roleName: name,
      assumedBy: new iam.ServicePrincipal('ec2.amazonaws.com'),
      description: 'Nodes of the pool: the SSM agent, their own program and their own leases; no bus, no data',
    });
    allow(role, [ssmAgent(), ...fetchAssets(pool.region, daemonObjectArns(Aws.PARTITION, daemons)), ...itsOwnLeases(settings)]);
    const profile = new iam.CfnInstanceProfile(this, 'InstanceProfile', { instanceProfileName: name, roles: [role.roleName] });
    for (const architecture of settings.architectures) {
      const userData = nodeUserData(settings, pool, daemons);
      addLaunchTemplate(this, settings, architecture, { name: poolTemplateName(settings, architecture), profile, userData });
    }
  }
}

/** Reads what is written for the node, and says what became of it: neither its leases nor anybody else's can it change. */
function itsOwnLeases(settings: Settings): Access[] {
  const resources = [arn('dynamodb', settings.homeRegion, `table/${tableName(settings, POOL_TABLE)}`)];
  const itsOwn = { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [CALLER] } };
  // ForAllValues holds for a call that names no key at all.
  const named = { Null: { 'dynamodb:LeadingKeys': 'false' } };
  const saying = { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [CALLER], 'dynamodb:Attributes': SAID_ATTRIBUTES } };
  return [
    { actions: ['dynamodb:Query'], resources, conditions: { ...itsOwn, ...named } },
    { actions: ['dynamodb:UpdateItem'], resources, conditions: { ...saying, ...named } },
  ];
}

/**
 * Arms the power-off, then starts the unit that serves leases, at each boot. That unit puts the power-off off as long as the pool wants
 * the node or a lease lives, so a node that nobody knows any more ends itself.
 */
export function nodeUserData(settings: Settings, pool: PoolSettings, daemons: RegionDaemons): string {
  const { memory, descriptors } = leaseBounds(pool.leasesPerNode);
  const machines = arn('ec2', pool.region, 'instance/');
  const script = leaseScript(pool.region, daemons, [
    ['node_table', `${settings.homeRegion} ${tableName(settings, POOL_TABLE)} ${machines}`],
    ['node_seconds', String(60 * SILENT_MINUTES)],
    ['lease_memory', memory],
    ['lease_descriptors', String(descriptors)],
  ]);
  const boot = '${CPT_PER_BOOT:-/var/lib/cloud/scripts/per-boot}/cpt-serve-leases';
  return [
    '#!/bin/bash',
    'home="${CPT_HOME:-/opt/cpt}"',
    'mkdir -p "$home"',
    'cat >"$home/lease.sh" <<\'SCRIPT\'',
    script.trimEnd(),
    'SCRIPT',
    `cat >"${boot}" <<END`,
    '#!/bin/sh',
    `shutdown -P +${SILENT_MINUTES}`,
    'export SSM_TransferId=pool',
    'exec sh "$home/lease.sh" boot "$home/lease.sh"',
    'END',
    `chmod 755 "${boot}"`,
    `exec "${boot}"`,
    '',
  ].join('\n');
}

/** The daemon in a region's asset bucket: relays and ends fetch it from the region they are in. */

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import * as assets from 'aws-cdk-lib/aws-s3-assets';
import { Construct } from 'constructs';
import { UserError } from '../errors';
import { DaemonAsset } from '../names';
import { ROOT } from './python-code';

/** Context key with which tests of the templates do without a built daemon. */
export const ALLOW_MISSING_DAEMON = 'cpt:allowMissingDaemon';

const DAEMON = path.join('relay-ami', 'dist', 'x86_64', 'cpt-relay');
const PLACEHOLDER = path.join('infra', 'assets', 'missing-daemon.txt');

export class RelayDaemon extends Construct {
  public readonly asset: DaemonAsset;

  /** @param daemon path of the built daemon, relative to the checkout */
  public constructor(scope: Construct, id: string, daemon = DAEMON) {
    super(scope, id);
    const file = path.join(ROOT, this.daemonFile(daemon));
    const asset = new assets.Asset(this, 'Asset', { path: file });
    this.asset = {
      uri: `s3://${asset.s3BucketName}/${asset.s3ObjectKey}`,
      sha256: createHash('sha256').update(readFileSync(file)).digest('hex'),
    };
  }

  private daemonFile(daemon: string): string {
    if (existsSync(path.join(ROOT, daemon))) return daemon;
    const allowed: unknown = this.node.tryGetContext(ALLOW_MISSING_DAEMON);
    if (allowed === true || allowed === 'true') return PLACEHOLDER;
    throw new UserError(`${daemon} is not built: run \`make daemon\` first`);
  }
}

/** ARN of the object behind `s3://bucket/key`. */
export function daemonObjectArn(partition: string, { uri }: DaemonAsset): string {
  return `arn:${partition}:s3:::${uri.replace(/^s3:\/\//, '')}`;
}

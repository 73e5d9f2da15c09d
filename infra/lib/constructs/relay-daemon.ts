/** The daemon for one processor in a region's asset bucket: relays and ends fetch it from the region they are in. */

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import * as assets from 'aws-cdk-lib/aws-s3-assets';
import { Construct } from 'constructs';
import { UserError } from '../errors';
import { Architecture, ARCHITECTURES, DaemonAsset, RegionDaemons } from '../names';
import { ROOT } from './python-code';

/** Context key with which tests of the templates do without a built daemon. */
export const ALLOW_MISSING_DAEMON = 'cpt:allowMissingDaemon';


export class RelayDaemon extends Construct {
  public readonly asset: DaemonAsset;

  /** @param daemon path of the built daemon, relative to the checkout */
  public constructor(scope: Construct, id: string, architecture: Architecture, daemon = daemonPath(architecture)) {
    super(scope, id);
    const file = path.join(ROOT, this.daemonFile(daemon, architecture));
    const asset = new assets.Asset(this, 'Asset', { path: file });
    this.asset = {
      bucket: asset.s3BucketName,
      key: asset.s3ObjectKey,
      sha256: createHash('sha256').update(readFileSync(file)).digest('hex'),
    };
  }

  private daemonFile(daemon: string, architecture: Architecture): string {
    if (existsSync(path.join(ROOT, daemon))) return daemon;
    const allowed: unknown = this.node.tryGetContext(ALLOW_MISSING_DAEMON);
    if (allowed === true || allowed === 'true') return path.join('infra', 'assets', `missing-daemon-${architecture}`);
    const command = architecture === 'x86_64' ? 'make daemon' : `make daemon-${architecture}`;
    throw new UserError(`${daemon} is not built: run \`${command}\` first`);
  }
}

/** x86-64, without which there is no deployment, and what else lies in `relay-ami/dist`. */
export function builtArchitectures(root = ROOT): Architecture[] {
  return ARCHITECTURES.filter((name) => name === 'x86_64' || existsSync(path.join(root, daemonPath(name))));
}

/** ARNs of a region's daemons. */
export function daemonObjectArns(partition: string, daemons: RegionDaemons): string[] {
  return Object.values(daemons).map(({ bucket, key }) => `arn:${partition}:s3:::${bucket}/${key}`);
}

/** Where `make daemon` puts it, relative to the checkout. */
export function daemonPath(architecture: Architecture): string {
  return path.join('relay-ami', 'dist', architecture, 'cpt-relay');
}

/** The role whose sessions work on buckets. Few functions may have them, and each narrows its own to what one transfer needs. */

import { Duration } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { acknowledgeWildcards, INLINE_POLICY, policyOf } from '../access/access';
import { bucketAccess } from '../access/buckets';
import { Settings } from '../config';
import { bucketsRoleName } from '../names';

export class BucketAccess extends Construct {
  /** @param holders the roles of the functions that hand sessions out, or copy with them */
  public constructor(scope: Construct, id: string, settings: Settings, holders: readonly iam.IRole[]) {
    super(scope, id);
    const access = bucketAccess(settings);
    const role = new iam.Role(this, 'Role', {
      roleName: bucketsRoleName(settings),
      description: 'What transfers may do with buckets; no session is handed out that is not narrowed further',
      assumedBy: new iam.CompositePrincipal(...holders.map(({ roleArn }) => new iam.ArnPrincipal(roleArn))),
      maxSessionDuration: Duration.hours(1),
      inlinePolicies: { [INLINE_POLICY]: policyOf(settings, access) },
    });
    acknowledgeWildcards(role, access);
  }
}

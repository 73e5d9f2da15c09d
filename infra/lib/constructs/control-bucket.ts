/** The bucket with listings, manifests, digests, logs and reports of transfers, and with request documents. */

import { Duration, Validations } from 'aws-cdk-lib';
import * as s3 from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { Settings } from '../config';
import { controlBucketName, COPIES_PREFIX, ENDS_PREFIX, KEYS_PREFIX, REQUESTS_PREFIX, RESTORES_PREFIX, TRANSFERS_PREFIX } from '../names';
import { removal } from './removal';

export class ControlBucket extends Construct {
  public readonly bucket: s3.Bucket;

  public constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    this.bucket = new s3.Bucket(this, 'Bucket', {
      bucketName: controlBucketName(settings),
      blockPublicAccess: s3.BlockPublicAccess.BLOCK_ALL,
      encryption: s3.BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      // CloudFormation deletes no bucket that holds objects: `cpt leave` empties it.
      removalPolicy: removal(settings.dataOnDestroy),
      lifecycleRules: [TRANSFERS_PREFIX, ENDS_PREFIX, REQUESTS_PREFIX, KEYS_PREFIX, COPIES_PREFIX, RESTORES_PREFIX].map((prefix) => ({
        id: `expire-${prefix.slice(0, -1)}`,
        prefix,
        expiration: Duration.days(settings.objectRetentionDays),
        abortIncompleteMultipartUploadAfter: Duration.days(1),
      })),
    });
    // `eventBridgeEnabled` of the L2 would add a custom resource with a Lambda of its own; the property does the same.
    const resource = this.bucket.node.defaultChild as s3.CfnBucket;
    resource.notificationConfiguration = { eventBridgeConfiguration: { eventBridgeEnabled: true } };
    Validations.of(this.bucket).acknowledge({
      id: 'AwsSolutions-S1',
      reason:
        'Objects expire and only named roles read them; CloudTrail data events record access without a second bucket',
    });
  }
}

/** What sessions of a bucket's seat may do at most: the buckets and prefixes of the settings, and nothing else. */

import { Aws } from 'aws-cdk-lib';
import { AllowedBucket, Settings } from '../config';
import { arn, bucketsRoleName, PARTIAL_PREFIX, serviceNames } from '../names';
import { Access } from './access';

const READING = ['s3:GetObject', 's3:GetObjectVersion', 's3:GetObjectTagging', 's3:GetObjectVersionTagging'];
const WRITING = ['s3:GetObject', 's3:PutObject', 's3:PutObjectTagging', 's3:AbortMultipartUpload', 's3:ListMultipartUploadParts'];

/** A session of the role, narrowed by the function that asks for it; without buckets in the settings there is no such role. */
export function assumeBuckets(settings: Settings): Access {
  return { actions: ['sts:AssumeRole'], resources: [arn('iam', '', `role/${bucketsRoleName(settings)}`)] };
}

/** The same, where there is such a role. */
export function assumeAllowed(settings: Settings): Access[] {
  return settings.buckets.length > 0 ? [assumeBuckets(settings)] : [];
}

export function bucketAccess({ buckets }: Settings): Access[] {
  const may = (use: 'read' | 'write' | 'delete' | 'restore'): AllowedBucket[] => buckets.filter((entry) => entry[use]);
  const objects = (entries: readonly AllowedBucket[], actions: readonly string[], names = ''): Access[] =>
    entries.length === 0
      ? []
      : [
          {
            actions,
            resources: entries.map((entry) => `${bucketArn(entry)}/${entry.prefix}*${names}`),
            why: 'The setting names the prefix; transfers choose the keys below it.',
          },
        ];
  const mirrored = may('delete');
  return [
    ...objects(may('read'), READING),
    ...objects(may('write'), WRITING),
    ...objects(mirrored, ['s3:DeleteObject']),
    ...objects(may('restore'), ['s3:RestoreObject']),
    // Notes lie below the prefix of a transfer, which may be any below that of the settings.
    ...objects(may('write').filter((entry) => !mirrored.includes(entry)), ['s3:DeleteObject'], `${PARTIAL_PREFIX}*/*`),
    ...buckets.map(listing),
    ...uploads(may('write')),
    ...buckets.flatMap(keyOf),
  ];
}

function listing(entry: AllowedBucket): Access {
  return {
    actions: ['s3:ListBucket'],
    resources: [bucketArn(entry)],
    conditions: { StringLike: { 's3:prefix': `${entry.prefix}*` } },
  };
}

/** Names of unfinished uploads, also of others: S3 knows no prefix for that. One that a killed function has begun is found so. */
function uploads(entries: readonly AllowedBucket[]): Access[] {
  const resources = [...new Set(entries.map(bucketArn))];
  return resources.length > 0 ? [{ actions: ['s3:ListBucketMultipartUploads'], resources }] : [];
}

/** The customer's key, for objects of S3 in the bucket's region alone. */
function keyOf({ kmsKey, region }: AllowedBucket): Access[] {
  if (kmsKey === undefined) return [];
  const conditions = { StringEquals: { 'kms:ViaService': serviceNames(`s3.${region}`) } };
  return [{ actions: ['kms:Decrypt', 'kms:GenerateDataKey'], resources: [kmsKey], conditions }];
}

function bucketArn({ bucket }: AllowedBucket): string {
  return `arn:${Aws.PARTITION}:s3:::${bucket}`;
}

/** What machines fetch from the asset buckets of `cdk bootstrap`: objects by name, also where the account's own key encrypts them. */

import { arn, serviceNames } from '../names';
import { Access } from './access';

/** @param region that of the buckets; `*` for any, where the objects' ARNs name it by a policy variable */
export function fetchAssets(region: string, objects: readonly string[]): Access[] {
  const encrypted = objects.map((object) => object.replace('${aws:RequestedRegion}', '*'));
  // With a bucket key, S3 names the bucket instead of the object.
  const context = [...encrypted, ...new Set(encrypted.map((object) => object.slice(0, object.indexOf('/'))))];
  return [
    { actions: ['s3:GetObject'], resources: objects },
    {
      actions: ['kms:Decrypt'],
      resources: [arn('kms', region, 'key/*')],
      conditions: {
        StringLike: { 'kms:ViaService': serviceNames(`s3.${region}`), 'kms:EncryptionContext:aws:s3:arn': context },
      },
      why: 'Whoever bootstraps a region chooses its key. Only S3 may use it, and only for these objects.',
    },
  ];
}

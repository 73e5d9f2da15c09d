/** What functions may ask about the account and AWS's markets: list prices, quotas, EC2's role for spot, file systems. */

import { arn } from '../names';
import { Access } from './access';

const SPOT_ROLE = 'AWSServiceRoleForEC2Spot';

export function readPriceList(): Access {
  return {
    actions: ['pricing:GetProducts'],
    resources: ['*'],
    why: 'The price list is public, and its action has no resource.',
  };
}

export function readQuotas(): Access {
  return {
    actions: ['servicequotas:GetServiceQuota'],
    resources: ['*'],
    why: 'The quota is an optional resource of this action, and quotas are no secret.',
  };
}

/** An end may be on any file system of the account: which one, only its mount tells. */
export function readFileSystems(): Access[] {
  return [
    {
      actions: ['elasticfilesystem:DescribeFileSystems'],
      resources: [arn('elasticfilesystem', '*', 'file-system/*')],
      why: 'Which file system an end is on only its mount tells; the action only reads.',
    },
    { actions: ['fsx:DescribeFileSystems'], resources: ['*'], why: 'This action of FSx has no resource; it only reads.' },
  ];
}

/** IAM knows the path of a role that exists; where there is none, it asks the policies about the name alone. */
export function readSpotRole(): Access {
  const names = [`aws-service-role/spot.amazonaws.com/${SPOT_ROLE}`, SPOT_ROLE];
  return { actions: ['iam:GetRole'], resources: names.map((name) => arn('iam', '', `role/${name}`)) };
}

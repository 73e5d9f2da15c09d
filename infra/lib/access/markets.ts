/** What functions may ask about the account and AWS's markets: list prices and quotas. */

import { Access } from './access';

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

/** What the SSM agent on a relay or an end machine needs: AWS's own managed policy also reads every parameter. */

import { Access } from './access';

export function ssmAgent(): Access {
  return {
    actions: [
      'ssm:UpdateInstanceInformation',
      'ssmmessages:CreateControlChannel',
      'ssmmessages:CreateDataChannel',
      'ssmmessages:OpenControlChannel',
      'ssmmessages:OpenDataChannel',
    ],
    resources: ['*'],
    why: 'The SSM agent opens its channels and registers by actions that have no resource.',
  };
}

/** What CloudFormation does with what a deleted stack has held. */

import { RemovalPolicy } from 'aws-cdk-lib';
import { OnDestroy } from '../config';

/** What a deployment that failed has created goes again: nothing is in it, and its name would refuse the next deployment. */
export function removal(choice: OnDestroy): RemovalPolicy {
  return choice === 'retain' ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;
}

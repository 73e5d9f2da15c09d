/** What CloudFormation does with what a deleted stack has held. */

import { RemovalPolicy } from 'aws-cdk-lib';
import { OnDestroy } from '../config';

export function removal(choice: OnDestroy): RemovalPolicy {
  return choice === 'retain' ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
}

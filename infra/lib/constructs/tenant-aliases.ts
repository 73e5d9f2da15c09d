/** An alias of the state machine for each tenant: what an execution was started through says whose it is. */

import { Fn } from 'aws-cdk-lib';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import { Settings } from '../config';

export class TenantAliases extends Construct {
  public constructor(scope: Construct, id: string, { tenants }: Settings, stateMachine: sfn.StateMachine) {
    super(scope, id);
    const { logicalId } = stateMachine.node.defaultChild as sfn.CfnStateMachine;
    // Each change of the definition is a new revision, for which CloudFormation makes a new version before the old one goes.
    // Executions of a version that is gone run to their end.
    const version = new sfn.CfnStateMachineVersion(this, 'Version', {
      stateMachineArn: stateMachine.stateMachineArn,
      stateMachineRevisionId: Fn.getAtt(logicalId, 'StateMachineRevisionId').toString(),
      description: 'What transfers of tenants run',
    });
    for (const { name } of tenants) {
      new sfn.CfnStateMachineAlias(this, name, {
        name,
        description: `Transfers of tenant ${name}`,
        routingConfiguration: [{ stateMachineVersionArn: version.attrArn, weight: 100 }],
      });
    }
  }
}

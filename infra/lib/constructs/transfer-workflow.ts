/** The state machine, from `statemachine/`. */

import { Aws } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import { acknowledgeWildcards, allow } from '../access/access';
import { Settings } from '../config';
import { functionPlaceholder, State, STATES, stateMachineName } from '../names';
import { workflowDefinition } from '../workflow-definition';
import { removal } from './removal';

export class TransferWorkflow extends Construct {
  public readonly stateMachine: sfn.StateMachine;

  public constructor(
    scope: Construct,
    id: string,
    settings: Settings,
    states: Readonly<Record<State, lambda.Function>>,
  ) {
    super(scope, id);
    const role = new iam.Role(this, 'Role', { assumedBy: new iam.ServicePrincipal('states.amazonaws.com') });
    const logGroup = new logs.LogGroup(this, 'Logs', {
      // Step Functions needs this prefix, or the log group's resource policy outgrows its limit.
      logGroupName: `/aws/vendedlogs/states/${stateMachineName(settings)}`,
      retention: logs.RetentionDays.ONE_MONTH,
      removalPolicy: removal(settings.logsOnDestroy),
    });
    this.stateMachine = new sfn.StateMachine(this, 'StateMachine', {
      stateMachineName: stateMachineName(settings),
      // Text in the template, not an S3 asset: whoever reads the template reads the states.
      definitionBody: sfn.DefinitionBody.fromString(workflowDefinition()),
      definitionSubstitutions: {
        Partition: Aws.PARTITION,
        ...Object.fromEntries(STATES.map((state) => [functionPlaceholder(state), states[state].functionArn])),
      },
      role,
      // Without execution data: requests name paths of the users' machines.
      logs: { destination: logGroup, level: sfn.LogLevel.ALL, includeExecutionData: false },
      tracingEnabled: true,
    });
    // cfn-lint knows no placeholder in a Resource, and fails itself where it says so of a state in a branch (E1101, like E3601 in
    // .cfnlintrc.yaml). tests/infra/workflow.test.ts checks the definition.
    (this.stateMachine.node.defaultChild as sfn.CfnStateMachine).addMetadata('cfn-lint', { config: { ignore_checks: ['E1101'] } });
    allow(role, [{ actions: ['lambda:InvokeFunction'], resources: STATES.map((state) => states[state].functionArn) }]);
    acknowledgeWildcards(role, [
      {
        actions: ['logs:*LogDelivery', 'xray:*'],
        resources: ['*'],
        why: 'Log delivery and X-Ray are set up by actions that have no resource.',
      },
    ]);
  }
}

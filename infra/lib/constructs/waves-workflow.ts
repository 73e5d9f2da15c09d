/** The state machine of waves, from `statemachine/`: it starts executions of the transfer's, and waits for each. */

import { Aws } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import { acknowledgeWildcards, allow } from '../access/access';
import { runExecutions } from '../access/control-data';
import { Settings } from '../config';
import { functionPlaceholder, stateMachineArn, WAVE_STATES, WaveState, wavesMachineName } from '../names';
import { workflowDefinition } from '../workflow-definition';
import { removal } from './removal';

export class WavesWorkflow extends Construct {
  public readonly stateMachine: sfn.StateMachine;

  public constructor(
    scope: Construct,
    id: string,
    settings: Settings,
    states: Readonly<Record<WaveState, lambda.Function>>,
  ) {
    super(scope, id);
    const role = new iam.Role(this, 'Role', { assumedBy: new iam.ServicePrincipal('states.amazonaws.com') });
    // Step Functions tries what the role may do with its rule when the machine is made: the role's policy is there before.
    const access = [
      { actions: ['lambda:InvokeFunction'], resources: WAVE_STATES.map((state) => states[state].functionArn) },
      ...runExecutions(settings),
    ];
    allow(role, access);
    this.stateMachine = new sfn.StateMachine(this, 'StateMachine', {
      stateMachineName: wavesMachineName(settings),
      definitionBody: sfn.DefinitionBody.fromString(workflowDefinition('waves')),
      definitionSubstitutions: {
        Partition: Aws.PARTITION,
        TransferStateMachineArn: stateMachineArn(settings),
        ...Object.fromEntries(WAVE_STATES.map((state) => [functionPlaceholder(state), states[state].functionArn])),
      },
      role,
      // Without execution data, as of transfers.
      logs: {
        destination: new logs.LogGroup(this, 'Logs', {
          logGroupName: `/aws/vendedlogs/states/${wavesMachineName(settings)}`,
          retention: logs.RetentionDays.ONE_MONTH,
          removalPolicy: removal(settings.logsOnDestroy),
        }),
        level: sfn.LogLevel.ALL,
        includeExecutionData: false,
      },
      tracingEnabled: true,
    });
    // As of the transfer's definition.
    (this.stateMachine.node.defaultChild as sfn.CfnStateMachine).addMetadata('cfn-lint', { config: { ignore_checks: ['E1101'] } });
    acknowledgeWildcards(role, [
      {
        actions: ['logs:*LogDelivery', 'xray:*'],
        resources: ['*'],
        why: 'Log delivery and X-Ray are set up by actions that have no resource.',
      },
    ]);
  }
}

/** The control plane, in the home region. */

import { CfnOutput, DefaultStackSynthesizer, Stack } from 'aws-cdk-lib';
import * as sns from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { Settings } from './config';
import { Alarms } from './constructs/alarms';
import { ControlBucket } from './constructs/control-bucket';
import { Dashboard } from './constructs/dashboard';
import { ringForDeadLetters } from './constructs/dead-letter-queue';
import { EndpointAccess } from './constructs/endpoint-access';
import { SubscribedTopic } from './constructs/subscribed-topic';
import { Notifications } from './constructs/notifications';
import { SavedQueries } from './constructs/saved-queries';
import { Functions } from './constructs/functions';
import { TransferEvents } from './constructs/transfer-events';
import { TransferStarts } from './constructs/transfer-starts';
import { TransferTables } from './constructs/transfer-tables';
import { TransferWorkflow } from './constructs/transfer-workflow';
import { Daemons } from './function-environment';
import { approvalTopicName, pascalCase, Reaction } from './names';

const LATE_COSTS: readonly Reaction[] = [
  'watch_ends',
  'watch_relays',
  'watch_transfers',
  'reconcile',
  'retry_chunk',
  'replace_relay',
  'restart_end',
  'lose_end',
  'finish_transfer',
  'sweep_execution',
];

export class ControlStack extends Stack {
  public readonly alarmTopic: sns.ITopic;

  public constructor(scope: Construct, settings: Settings, daemons: Daemons) {
    super(scope, `${settings.name}-control`, {
      env: { region: settings.homeRegion },
      description: 'Cloud Parallel Transfer: state machine, functions, tables, bucket, bus',
      synthesizer: new DefaultStackSynthesizer({ generateBootstrapVersionRule: false }),
    });
    const { tables } = new TransferTables(this, 'Tables', settings);
    const { bucket } = new ControlBucket(this, 'Control', settings);
    const functions = new Functions(this, 'Functions', settings, daemons);
    const { stateMachine } = new TransferWorkflow(this, 'Workflow', settings, functions.states);
    const { bus, machineEnds } = new TransferEvents(this, 'Events', settings, functions.reactions);
    new TransferStarts(this, 'Starts', settings, functions.reactions);
    const approvals = new SubscribedTopic(this, 'Approvals', {
      topicName: approvalTopicName(settings),
      displayName: 'CPT approvals',
      mail: settings.approvalMail,
    });
    const notifications = new Notifications(this, 'Notifications', settings, bus);
    const alarms = new Alarms(this, 'Alarms', settings, {
      stateMachine,
      // What runs late here costs a running transfer; all of them would be more than an alarm may look at.
      reactions: LATE_COSTS.map((reaction) => functions.reactions[reaction].function),
      machineEnds,
      // Throttled calls of the others delay nothing but a start.
      tables: [tables.transfers, tables.chunks, tables.nodes, tables['control-tokens']],
    });
    new SavedQueries(this, 'Queries', settings, functions.all);
    this.alarmTopic = alarms.topic;
    ringForDeadLetters(this, this.alarmTopic);
    new Dashboard(this, 'Overview', settings, stateMachine, functions.all, [
      ...Object.values(functions.reactions).map(({ deadLetterQueue }) => deadLetterQueue),
      notifications.deadLetterQueue,
    ], machineEnds);
    const { policy } = new EndpointAccess(this, 'Endpoint', settings, daemons);
    this.output('StateMachineArn', stateMachine.stateMachineArn, 'Start an execution of this to start a transfer');
    this.output('ControlBucketName', bucket.bucketName, 'Listings, manifests and reports');
    this.output('EventBusName', bus.eventBusName, 'Events of transfers');
    this.output('ApprovalTopicArn', approvals.topic.topicArn, 'Subscribe to this to be asked for approval');
    this.output('NotificationTopicArn', notifications.topic.topicArn, 'Subscribe to this to hear of transfers');
    this.output('AlarmTopicArn', alarms.topic.topicArn, 'Subscribe to this to hear of what needs somebody');
    this.output(
      'DecideApprovalFunctionArn',
      functions.calls.decide_approval.functionArn,
      'Who may invoke this may approve and reject: cpt approve, cpt reject',
    );
    this.output(
      'EstimateRequestFunctionArn',
      functions.calls.estimate_request.functionArn,
      'Who may invoke this may ask for estimates and the map: cpt estimate REQUEST, cpt map',
    );
    this.output(
      'LimitTransferFunctionArn',
      functions.calls.limit_transfer.functionArn,
      'Who may invoke this may change what transfers may send: cpt limit',
    );
    this.output(
      'TeardownRequestFunctionArn',
      functions.calls.teardown_request.functionArn,
      'Who may invoke this may stop transfers and take down what they left: cpt teardown',
    );
    this.output(
      'EndpointPolicyArn',
      policy.managedPolicyArn,
      'Attach this to the roles of source and destination machines',
    );
    for (const [name, table] of Object.entries(tables)) {
      this.output(
        `${pascalCase(name.replaceAll('-', '_'))}TableName`,
        table.tableName,
        `Table of ${name.replaceAll('-', ' ')}`,
      );
    }
  }

  private output(name: string, value: string, description: string): void {
    new CfnOutput(this, name, { value, description });
  }
}

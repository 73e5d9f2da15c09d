/** The control plane, in the home region. */

import { CfnOutput, DefaultStackSynthesizer, Stack } from 'aws-cdk-lib';
import * as sns from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { Settings } from './config';
import { Alarms } from './constructs/alarms';
import { PeopleAccess } from './constructs/people-access';
import { BucketAccess } from './constructs/bucket-access';
import { ControlBucket } from './constructs/control-bucket';
import { Dashboard } from './constructs/dashboard';
import { ringForDeadLetters } from './constructs/dead-letter-queue';
import { EndpointAccess } from './constructs/endpoint-access';
import { SubscribedTopic } from './constructs/subscribed-topic';
import { Notifications } from './constructs/notifications';
import { TenantAliases } from './constructs/tenant-aliases';
import { SavedQueries } from './constructs/saved-queries';
import { Functions } from './constructs/functions';
import { TransferEvents } from './constructs/transfer-events';
import { TransferStarts } from './constructs/transfer-starts';
import { TransferTables } from './constructs/transfer-tables';
import { TransferWorkflow } from './constructs/transfer-workflow';
import { WavesWorkflow } from './constructs/waves-workflow';
import { Daemons } from './function-environment';
import { approvalTopicName, pascalCase, Reaction, State } from './names';

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

/** Functions that work on buckets, or take down what was begun there. */
const BUCKET_STATES: readonly State[] = ['list_archived', 'restore_objects', 'survey_buckets', 'list_objects', 'copy_unit', 'tear_down'];
const BUCKET_REACTIONS: readonly Reaction[] = ['issue_credentials', 'sweep_execution', 'sweep_uploads'];

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
    if (settings.tenants.length > 0) new TenantAliases(this, 'Tenants', settings, stateMachine);
    const waves = new WavesWorkflow(this, 'Waves', settings, functions.waves);
    const { bus, machineEnds } = new TransferEvents(this, 'Events', settings, functions.reactions);
    const holders = [
      ...BUCKET_STATES.map((state) => functions.states[state]),
      ...BUCKET_REACTIONS.map((reaction) => functions.reactions[reaction].function),
      functions.calls.teardown_request,
    ].flatMap(({ role }) => (role === undefined ? [] : [role]));
    if (settings.buckets.length > 0) new BucketAccess(this, 'Buckets', settings, holders);
    new TransferStarts(this, 'Starts', settings, functions.reactions, bus);
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
    ], machineEnds, functions.calls.show_transfers);
    const { policy } = new EndpointAccess(this, 'Endpoint', settings, daemons);
    this.output('StateMachineArn', stateMachine.stateMachineArn, 'Start an execution of this to start a transfer');
    this.output('WavesStateMachineArn', waves.stateMachine.stateMachineArn, 'Start an execution of this to move a tree in waves');
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
      'DrainSeatFunctionArn',
      functions.calls.drain_seat.functionArn,
      'Who may invoke this may take machines out of running transfers: cpt seats drain',
    );
    this.output(
      'LimitTransfersFunctionArn',
      functions.calls.limit_transfers.functionArn,
      'Who may invoke this may limit what several transfers send together: cpt limit --all',
    );
    this.output(
      'PauseTransferFunctionArn',
      functions.calls.pause_transfer.functionArn,
      'Who may invoke this may pause transfers: cpt pause',
    );
    this.output(
      'UnpauseTransferFunctionArn',
      functions.calls.unpause_transfer.functionArn,
      'Who may invoke this may let paused transfers go on: cpt unpause',
    );
    this.output(
      'CancelTransferFunctionArn',
      functions.calls.cancel_transfer.functionArn,
      'Who may invoke this may stop transfers, from the dashboard too',
    );
    this.output(
      'StartFromScheduleFunctionArn',
      functions.reactions.start_from_schedule.function.functionArn,
      'Who may invoke this may start transfers, from the dashboard',
    );
    this.output(
      'ShowTransfersFunctionArn',
      functions.calls.show_transfers.functionArn,
      'Who may invoke this may look at transfers on the dashboard',
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
    for (const [part, { managedPolicyArn }] of Object.entries(new PeopleAccess(this, 'People', settings).policies)) {
      this.output(`${pascalCase(part)}PolicyArn`, managedPolicyArn, `Attach this to whoever is a ${part} of transfers`);
    }
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

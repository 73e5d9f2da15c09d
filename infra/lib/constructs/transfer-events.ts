/** The bus, and what reacts to what. */

import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import * as events from 'aws-cdk-lib/aws-events';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { Settings } from '../config';
import { controlBucketName, machineEndsQueueName, Reaction, REQUESTS_PREFIX, stateMachineArn, wavesMachineArn } from '../names';
import { EventQueue } from './event-queue';
import { objectWritten, reactTo } from './reaction';
import { Reactor } from './functions';

/** Source of what the daemons at the ends put on the bus. */
const AGENT = 'cpt.agent';

/** Source of what the control plane puts there. */
export const CONTROL = 'cpt.control';

/** States in which a machine carries nothing any more. */
const ENDED_STATES = ['stopping', 'stopped', 'shutting-down', 'terminated'];

/**
 * Events of EC2 that tell of a machine's end; no advice, such as to rebalance. They carry neither tags nor a name, so a pattern
 * cannot leave out machines that are not ours.
 */
export const MACHINE_ENDS = {
  detailType: ['EC2 Instance State-change Notification', 'EC2 Spot Instance Interruption Warning'],
  // The warning has no state.
  detail: { state: [{ exists: false }, ...ENDED_STATES] },
};

export class TransferEvents extends Construct {
  public readonly bus: events.EventBus;
  /** EC2's events about machines that end. */
  public readonly machineEnds: sqs.Queue;

  public constructor(
    scope: Construct,
    id: string,
    private readonly settings: Settings,
    private readonly reactions: Readonly<Record<Reaction, Reactor>>,
  ) {
    super(scope, id);
    this.bus = new events.EventBus(this, 'Bus', { eventBusName: settings.name });
    this.bus.applyRemovalPolicy(RemovalPolicy.DESTROY);
    this.onBus('retry_chunk', 'retry-chunk', { source: [AGENT], detailType: ['Chunk Failed'] });
    this.onBus('replace_relay', 'replace-relay', {
      source: [AGENT, CONTROL],
      detailType: ['Relay Lost', 'Relay Slow', 'Relay Warned'],
    });
    this.onBus('grow_relays', 'grow-relays', { source: [CONTROL], detailType: ['Rate Fell', 'Transfer Unpaused'] });
    this.onBus('replan_routes', 'replan-routes', { source: [CONTROL], detailType: ['Plan Due'] });
    this.onBus('reconcile', 'reconcile', { source: [CONTROL], detailType: ['Look Due'] });
    this.onBus('restart_end', 'restart-end', { source: [CONTROL], detailType: ['End Silent'] });
    this.onBus('lose_end', 'lose-end', { source: [CONTROL], detailType: ['End Lost'] });
    this.onBus('issue_credentials', 'issue-credentials', { source: [AGENT], detailType: ['Credentials Wanted'] });
    this.onBus('close_window', 'close-window', { source: [CONTROL], detailType: ['Window Due'] });
    this.machineEnds = this.queueMachineEnds();
    this.onBus('finish_transfer', 'finish-transfer', {
      source: [AGENT],
      detailType: ['Transfer Delivered', 'Transfer Failed'],
    });
    this.rule('sweep_execution', 'sweep-execution', {
      eventPattern: {
        source: ['aws.states'],
        detailType: ['Step Functions Execution Status Change'],
        detail: {
          stateMachineArn: [stateMachineArn(settings), wavesMachineArn(settings)],
          status: ['FAILED', 'ABORTED', 'TIMED_OUT'],
        },
      },
    });
    this.onBus('sweep_execution', 'sweep-left', { source: [CONTROL], detailType: ['Execution Over'] });
    this.rule('start_from_object', 'start-from-object', {
      eventPattern: objectWritten(controlBucketName(settings), { wildcard: `${REQUESTS_PREFIX}*.json` }),
    });
    this.rule('sweep_uploads', 'sweep-uploads', { schedule: events.Schedule.rate(Duration.days(1)) });
    this.everyMinute('watch_ends', 'watch-ends');
    this.everyMinute('watch_transfers', 'watch-transfers');
    this.everyMinute('watch_relays', 'watch-relays');
    this.everyMinute('share_limits', 'share-limits');
  }

  /** All of the account's machines have a way here: when a hundred end at once, they are ten invocations, two at a time. */
  private queueMachineEnds(): sqs.Queue {
    const machineEnds = new EventQueue(this, 'MachineEnds', {
      queueName: machineEndsQueueName(this.settings),
      reactor: this.reactions.tell_machine_ends,
    });
    const ruleName = `${this.settings.name}-machine-ends`;
    const eventPattern = { source: ['aws.ec2'], ...MACHINE_ENDS };
    machineEnds.take(new events.Rule(this, 'machine-ends', { ruleName, eventBus: this.bus, eventPattern }));
    return machineEnds.queue;
  }

  private everyMinute(reaction: Reaction, suffix: string): void {
    this.rule(reaction, suffix, { schedule: events.Schedule.rate(Duration.minutes(1)) });
  }

  private onBus(reaction: Reaction, suffix: string, eventPattern: events.EventPattern): void {
    this.rule(reaction, suffix, { eventBus: this.bus, eventPattern });
  }

  private rule(reaction: Reaction, suffix: string, props: events.RuleProps): void {
    const rule = new events.Rule(this, suffix, { ruleName: `${this.settings.name}-${suffix}`, ...props });
    reactTo(rule, this.reactions[reaction]);
  }
}

/** The bus, and what reacts to what. */

import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import * as events from 'aws-cdk-lib/aws-events';
import { Construct } from 'constructs';
import { Settings } from '../config';
import { controlBucketName, Reaction, REQUESTS_PREFIX, stateMachineArn } from '../names';
import { objectWritten, reactTo } from './reaction';
import { Reactor } from './stage-functions';

/** Source of what the daemons at the ends put on the bus. */
const AGENT = 'cpt.agent';

/** Source of what the control plane puts there. */
export const CONTROL = 'cpt.control';

/** States in which a machine carries nothing any more. */
const ENDED_STATES = ['stopping', 'stopped', 'shutting-down', 'terminated'];

const STATE_CHANGE = 'EC2 Instance State-change Notification';

/**
 * Events of EC2 that tell of a machine's end; no advice, such as to rebalance. They carry neither tags nor a name, so a pattern
 * cannot leave out machines that are not ours.
 */
export const MACHINE_ENDS = {
  detailType: [STATE_CHANGE, 'EC2 Spot Instance Interruption Warning'],
  // The warning has no state.
  detail: { state: [{ exists: false }, ...ENDED_STATES] },
};

export class TransferEvents extends Construct {
  public readonly bus: events.EventBus;

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
      source: [AGENT, CONTROL, 'aws.ec2'],
      ...MACHINE_ENDS,
      detailType: ['Relay Lost', 'Relay Slow', 'Rate Fell', 'Plan Due', ...MACHINE_ENDS.detailType],
    });
    this.onBus('reconcile', 'reconcile', { source: [CONTROL], detailType: ['Look Due'] });
    this.onBus('restart_end', 'restart-end', { source: [CONTROL], detailType: ['End Silent'] });
    this.onBus('lose_end', 'lose-end', {
      source: ['aws.ec2'],
      detailType: [STATE_CHANGE],
      detail: { state: ENDED_STATES },
    });
    this.onBus('finish_transfer', 'finish-transfer', {
      source: [AGENT],
      detailType: ['Transfer Delivered', 'Transfer Failed'],
    });
    this.rule('sweep_execution', 'sweep-execution', {
      eventPattern: {
        source: ['aws.states'],
        detailType: ['Step Functions Execution Status Change'],
        detail: {
          stateMachineArn: [stateMachineArn(settings)],
          status: ['FAILED', 'ABORTED', 'TIMED_OUT'],
        },
      },
    });
    this.onBus('sweep_execution', 'sweep-left', { source: [CONTROL], detailType: ['Execution Over'] });
    this.rule('start_from_object', 'start-from-object', {
      eventPattern: objectWritten(controlBucketName(settings), { wildcard: `${REQUESTS_PREFIX}*.json` }),
    });
    this.everyMinute('watch_ends', 'watch-ends');
    this.everyMinute('watch_transfers', 'watch-transfers');
    this.everyMinute('watch_relays', 'watch-relays');
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

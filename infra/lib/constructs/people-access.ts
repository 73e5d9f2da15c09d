/** Policies for people and their scripts, each for one part; whoever runs the deployment attaches them to users and roles. */

import * as iam from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { Access, acknowledgeWildcards, statement } from '../access/access';
import * as data from '../access/control-data';
import * as schedules from '../access/schedules';
import { Settings } from '../config';
import { arn, functionName, Handler, pascalCase } from '../names';

type Part = 'reader' | 'starter' | 'approver' | 'scheduler';

const DESCRIPTIONS: Readonly<Record<Part, string>> = {
  reader: 'Sees all transfers of Cloud Parallel Transfer and their reports',
  starter: 'Starts, estimates, limits, pauses and cancels transfers of Cloud Parallel Transfer',
  approver: 'Approves and rejects transfers of Cloud Parallel Transfer',
  scheduler: 'Adds, changes and removes schedules that start transfers of Cloud Parallel Transfer',
};

export class PeopleAccess extends Construct {
  public readonly policies: Readonly<Record<Part, iam.ManagedPolicy>>;

  public constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    const granted: Readonly<Record<Part, readonly Access[]>> = {
      reader: reading(settings),
      starter: starting(settings),
      approver: [call(settings, 'decide_approval')],
      scheduler: scheduling(settings),
    };
    const policy = (part: Part): iam.ManagedPolicy => {
      const made = new iam.ManagedPolicy(this, pascalCase(part), {
        managedPolicyName: `${settings.name}-${part}`,
        description: DESCRIPTIONS[part],
        statements: granted[part].map(statement),
      });
      acknowledgeWildcards(made, granted[part]);
      return made;
    };
    this.policies = {
      reader: policy('reader'),
      starter: policy('starter'),
      approver: policy('approver'),
      scheduler: policy('scheduler'),
    };
  }
}

/** `cpt list`, `watch`, `waves`, `report`, `schedule list` and `starts list`. */
function reading(settings: Settings): Access[] {
  return [
    knowing(settings),
    data.listExecutions(settings),
    data.describeExecutions(settings),
    data.describeWaves(settings),
    data.table(settings, 'transfers', 'GetItem', 'Query'),
    data.table(settings, 'nodes', 'Query'),
    data.transferObjects(settings, 'GetObject'),
    // The dashboard's page.
    call(settings, 'show_transfers'),
    ...schedules.readSchedules(settings),
    ...data.readStartRules(settings),
    data.addedStarts(settings, 'GetItem'),
    // `cpt pool`; what stands there is no secret: public keys, addresses, ports.
    ...data.pool(settings, 'Scan'),
  ];
}

/**
 * `cpt request`, `estimate`, `map`, `start`, `waves`, `limit`, `pause`, `unpause`, `seats drain` and `cancel`; to see how a transfer goes
 * takes the policy of the reader too.
 */
function starting(settings: Settings): Access[] {
  return [
    knowing(settings),
    {
      actions: ['ec2:DescribeInstances'],
      resources: ['*'],
      why: 'EC2 evaluates this action without a resource. It finds the region of a machine.',
    },
    call(settings, 'estimate_request'),
    data.startExecutions(settings),
    data.startWaves(settings),
    data.describeWaves(settings),
    data.describeExecutions(settings),
    data.stopExecutions(settings),
    // Whether a name was used by a transfer that was refused.
    data.table(settings, 'transfers', 'GetItem'),
    call(settings, 'limit_transfer'),
    call(settings, 'limit_transfers'),
    call(settings, 'drain_seat'),
    call(settings, 'pause_transfer'),
    call(settings, 'unpause_transfer'),
    call(settings, 'cancel_transfer'),
    // The form of the dashboard's page.
    call(settings, 'start_from_schedule'),
  ];
}

/** `cpt schedule` and `cpt starts`: both start what they say, so who has this has what a starter has, at set times or by objects. */
function scheduling(settings: Settings): Access[] {
  return [
    knowing(settings),
    ...schedules.readSchedules(settings),
    ...schedules.changeSchedules(settings),
    ...data.readStartRules(settings),
    data.addedStarts(settings, 'GetItem', 'PutItem'),
  ];
}

/** The deployment's settings, as the environment of its functions has them: a request is judged by them before it is sent. */
function knowing(settings: Settings): Access {
  return { actions: ['lambda:GetFunctionConfiguration'], resources: [functionArn(settings, 'validate_request')] };
}

function call(settings: Settings, handler: Handler): Access {
  return { actions: ['lambda:InvokeFunction'], resources: [functionArn(settings, handler)] };
}

function functionArn(settings: Settings, handler: Handler): string {
  return arn('lambda', settings.homeRegion, `function:${functionName(settings, handler)}`);
}

import * as events from 'aws-cdk-lib/aws-events';
import { expect, it } from 'vitest';
import { ringForDeadLetters } from '../../infra/lib/constructs/dead-letter-queue';
import { Functions, Handlers } from '../../infra/lib/constructs/functions';
import { reactTo } from '../../infra/lib/constructs/reaction';
import { Settings } from '../../infra/lib/config';
import { Deployment } from '../../infra/lib/deployment';
import { CALLS, REACTIONS, STATES } from '../../infra/lib/names';
import { resources, synthesize, TEN_REGIONS } from './synthesis';

// CloudFormation takes 1 000 000 bytes and 500 resources.
const MOST_BYTES = 700_000;
const MOST_RESOURCES = 400;

/** Twenty, of each kind as many as its share of those that there are, the ones with the longest policies among them. */
const TWENTY: Handlers = {
  states: ['spawn_relays', 'tear_down', 'await_relays', 'decide_relays', 'resolve_paths', 'start_transfer', 'survey_ends', 'pre_test_relays', 'finish_survey', 'delete_extras', 'write_report'],
  reactions: ['replace_relay', 'sweep_execution', 'reconcile', 'restart_end', 'watch_transfers', 'finish_transfer', 'start_from_object'],
  calls: ['teardown_request', 'estimate_request'],
};

/** The same functions once more under another deployment's name, each reaction with a rule as any other. */
function addTwenty({ control }: Deployment, settings: Settings): void {
  const more = new Functions(control, 'More', { ...settings, name: 'add' }, {}, TWENTY);
  for (const reaction of TWENTY.reactions) {
    const rule = new events.Rule(control, `more-${reaction}`, { eventPattern: { source: ['cpt.control'], detailType: [reaction] } });
    reactTo(rule, more.reactions[reaction]);
  }
  ringForDeadLetters(more, control.alarmTopic);
}

it('ten regions and twenty functions more fit into the template of the control plane with room to spare', () => {
  const { control, controlBytes } = synthesize({ regions: TEN_REGIONS }, { arm64: true, add: addTwenty });
  const there = STATES.length + REACTIONS.length + CALLS.length;
  expect(Object.keys(resources(control, 'AWS::Lambda::Function'))).toHaveLength(there + 20);
  expect(controlBytes).toBeLessThan(MOST_BYTES);
  expect(Object.keys(control.toJSON().Resources as object).length).toBeLessThan(MOST_RESOURCES);
}, 120_000);

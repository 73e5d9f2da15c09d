import * as events from 'aws-cdk-lib/aws-events';
import { expect, it } from 'vitest';
import { ringForDeadLetters } from '../../infra/lib/constructs/dead-letter-queue';
import { Functions, Handlers } from '../../infra/lib/constructs/functions';
import { reactTo } from '../../infra/lib/constructs/reaction';
import { Settings } from '../../infra/lib/config';
import { Deployment } from '../../infra/lib/deployment';
import { resources, synthesize, TEN_REGIONS } from './synthesis';

// CloudFormation takes 1 000 000 bytes and 500 resources; a function is three resources, and nine where a rule invokes it.
const MOST_BYTES = 700_000;
const MOST_RESOURCES = 400;

/** When room was made there were 51, and twenty more were to fit (docs/design/059-room-in-templates.md): these are what is left of the twenty. */
const FUNCTIONS = 71;

/** Of each kind as many as its share of those that there are, the ones with the longest policies among them. */
const MORE: Handlers = {
  states: [],
  reactions: ['reconcile'],
  calls: [],
  waves: [],
};

/** The same functions once more under another deployment's name, each reaction with a rule as any other. */
function addMore({ control }: Deployment, settings: Settings): void {
  const more = new Functions(control, 'More', { ...settings, name: 'add' }, {}, MORE);
  for (const reaction of MORE.reactions) {
    const rule = new events.Rule(control, `more-${reaction}`, { eventPattern: { source: ['cpt.control'], detailType: [reaction] } });
    reactTo(rule, more.reactions[reaction]);
  }
  ringForDeadLetters(more, control.alarmTopic);
}

it('ten regions and 71 functions fit into the template of the control plane with room to spare', () => {
  const { control, controlBytes } = synthesize({ regions: TEN_REGIONS }, { arm64: true, add: addMore });
  expect(Object.keys(resources(control, 'AWS::Lambda::Function'))).toHaveLength(FUNCTIONS);
  expect(controlBytes).toBeLessThan(MOST_BYTES);
  expect(Object.keys(control.toJSON().Resources as object).length).toBeLessThan(MOST_RESOURCES);
}, 120_000);

/** The second judge: reads `{policies, cases}` as JSON, answers a decision for each case; see judges.py. */

import { runSimulation } from '@cloud-copilot/iam-simulate';
import { text } from 'node:stream/consumers';

const { account, policies, cases } = JSON.parse(await text(process.stdin));

async function decide({ role, variant, action, resource, region, context }) {
  const found = await runSimulation(
    {
      request: {
        principal: `arn:aws:sts::${account}:assumed-role/${role}/session`,
        action,
        resource: { resource, accountId: account },
        contextVariables: { 'aws:RequestedRegion': region, 'aws:SecureTransport': 'true', ...context },
      },
      identityPolicies: policies[role][variant].map((policy, index) => ({ name: `${index}`, policy })),
      serviceControlPolicies: [],
      resourceControlPolicies: [],
    },
    {},
  );
  if (found.resultType !== 'single') return JSON.stringify(found.errors ?? found.resultType);
  const ignored = found.result.ignoredContextKeys ?? [];
  return ignored.length ? `${found.overallResult} without ${ignored.join(', ')}` : found.overallResult;
}

const decisions = [];
for (const one of cases) decisions.push(await decide(one));
process.stdout.write(JSON.stringify(decisions));

import { readdirSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks';
import validateAsl from 'asl-validator';
import { describe, expect, it } from 'vitest';
import { COPYING_STATES, functionPlaceholder, MEASURING_STATES, pascalCase, STATES } from '../../infra/lib/names';
import { workflowDefinition } from '../../infra/lib/workflow-definition';
import { POOL, resources, ROOT, synthesize, text } from './synthesis';

interface State {
  readonly Type: string;
  readonly Resource?: string;
  readonly Arguments?: { readonly FunctionName?: string };
  readonly Retry?: readonly { ErrorEquals: string[]; IntervalSeconds: number; MaxAttempts: number }[];
  readonly Error?: string;
  readonly Branches?: readonly StateMachine[];
  readonly ItemProcessor?: StateMachine;
}
interface StateMachine {
  readonly States: Readonly<Record<string, State>>;
}

const ASL = workflowDefinition();
const tasks = tasksOf(JSON.parse(ASL) as StateMachine);

/** `[state name, placeholder of its function]` of each task, in branches too. */
function tasksOf(machine: StateMachine): [string, string][] {
  return statesOf(machine).flatMap(([name, { Type, Arguments, Resource }]): [string, string][] =>
    Type === 'Task' ? [[name, /\$\{(\w+)\}/.exec(Arguments?.FunctionName ?? Resource ?? '')?.[1] ?? '']] : [],
  );
}

/** Every state with its name, in branches and maps too; those that only warm functions call many by one state. */
function statesOf({ States }: StateMachine): [string, State][] {
  return Object.entries(States).flatMap(([name, state]): [string, State][] => [
    [name, state],
    ...[...(state.Branches ?? []), ...(state.ItemProcessor && name !== 'Warm Functions' ? [state.ItemProcessor] : [])].flatMap(statesOf),
  ]);
}

describe('one thing has one name', () => {
  it('in every task: state, placeholder of its function, handler', () => {
    expect(tasks.map(([state]) => state.replaceAll(/[ -]/g, '_').toLowerCase()).sort()).toEqual([...STATES].sort());
    for (const [state, placeholder] of tasks) {
      expect(placeholder).toBe(
        functionPlaceholder(
          STATES.find((handler) => handler === state.replaceAll(/[ -]/g, '_').toLowerCase()) ?? STATES[0],
        ),
      );
    }
  });

  it('every placeholder of the definition is substituted, and nothing else is', () => {
    const placeholders = new Set([...ASL.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name));
    const [machine] = Object.values(resources(synthesize().control, 'AWS::StepFunctions::StateMachine'));
    expect(new Set(Object.keys(machine?.DefinitionSubstitutions as object))).toEqual(placeholders);
    expect(machine?.DefinitionString).toBe(ASL);
  });

  it('every substitution is the function of that name', () => {
    const { control, settings } = synthesize();
    const functions = resources(control, 'AWS::Lambda::Function');
    const [machine] = Object.values(resources(control, 'AWS::StepFunctions::StateMachine'));
    const substitutions = machine?.DefinitionSubstitutions as Record<string, unknown>;
    for (const state of STATES) {
      const id = text(substitutions[functionPlaceholder(state)]).replace(/^<(.*)\.Arn>$/, '$1');
      expect(functions[id]?.FunctionName).toBe(`${settings.name}-${state.replaceAll('_', '-')}`);
      expect(functions[id]?.Handler).toBe(`lambdas.handlers.states.${state}.handler`);
    }
  });

  it('every handler file has a function, and every function a handler file', () => {
    const folder = path.join(ROOT, 'lambdas', 'handlers');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => /\/[a-z]\w*\.py$/.test(file));
    const modules = files.map((file) => file.replace('.py', '').replace('/', '.'));
    const { control, pool } = synthesize({ pool: POOL });
    const functions = [control, pool].flatMap((stack) => Object.values(resources(stack, 'AWS::Lambda::Function')));
    const invoked = functions.map((one) => text(one.Handler).replace(/^lambdas\.handlers\.(.*)\.handler$/, '$1'));
    expect(modules.sort()).toEqual(invoked.sort());
  });

  it('turns a handler into a construct’s name', () => {
    expect(pascalCase('pre_test_relays')).toBe('PreTestRelays');
  });
});

it('no execution fails under a name that Step Functions keeps for itself', () => {
  const fails = statesOf(JSON.parse(ASL) as StateMachine).filter(([, { Type }]) => Type === 'Fail');
  expect(fails.length).toBeGreaterThan(3);
  // The report's names are those of `name_of_ours` in lambdas/core/transfer/failure.py.
  for (const [name, { Error: error }] of fails) {
    expect(error, name).toMatch(/^\{% (\$report\.error|\$replace\(\$.*Error, 'States\.', 'Workflow\.'\)) %\}$/);
  }
});

it('what is tried again where a call of a function fails is what the CDK itself would try again', () => {
  const stack = new Stack(new App());
  const code = lambda.Code.fromInline('exports.handler = () => 1;');
  const called = new lambda.Function(stack, 'F', { code, handler: 'index.handler', runtime: lambda.Runtime.NODEJS_22_X });
  const state = new LambdaInvoke(stack, 'Call', { lambdaFunction: called });
  const [retry] = (state.toStateJson() as { Retry: { ErrorEquals: string[] }[] }).Retry;
  const ours = (JSON.parse(readFileSync(path.join(ROOT, 'statemachine', 'retries.json'), 'utf8')) as Record<string, { ErrorEquals: string[] }>)
    .transient?.ErrorEquals;
  expect(ours?.filter((name) => name.startsWith('Lambda.')).sort()).toEqual([...(retry?.ErrorEquals ?? [])].sort());
});

it('a request that waits for its destination is tried again for hours, which the execution outlasts', () => {
  const { States, TimeoutSeconds } = JSON.parse(ASL) as {
    TimeoutSeconds: number;
    States: Record<string, { Retry?: { ErrorEquals: string[]; IntervalSeconds: number; MaxAttempts: number }[] }>;
  };
  const waits = States['Validate Request']?.Retry?.find(({ ErrorEquals }) => ErrorEquals.includes('DestinationTaken'));
  const seconds = (waits?.IntervalSeconds ?? 0) * (waits?.MaxAttempts ?? 0);
  expect(seconds).toBe(12 * 3_600);
  // Where only the survey finds that it is taken: 60, 120, 240, 480 s, then 600 s each.
  const survey = new Map(statesOf(JSON.parse(ASL) as StateMachine)).get('Survey Ends');
  const again = survey?.Retry?.find(({ ErrorEquals }) => ErrorEquals.includes('DestinationTaken'));
  const more = 900 + 600 * ((again?.MaxAttempts ?? 0) - 4);
  expect(more).toBeGreaterThan(11 * 3_600);
  expect(more).toBeLessThan(12 * 3_600);
  const approval = States['Await Approval'] as { TimeoutSeconds: number };
  expect(TimeoutSeconds).toBeGreaterThan(604_800 + approval.TimeoutSeconds + seconds + more);
  // Each attempt is three events of at most 25 000 in an execution's history.
  expect(3 * (waits?.MaxAttempts ?? 0)).toBeLessThan(5_000);
});

it('states that command an end are tried again where its agent is busy', () => {
  const states = new Map(statesOf(JSON.parse(ASL) as StateMachine));
  for (const name of ['Resolve Paths', 'Survey Ends', 'Resolve Measured Paths', 'Survey Measured Ends', 'Make Way', 'Delete Extras']) {
    const again = states.get(name)?.Retry?.find(({ ErrorEquals }) => ErrorEquals.includes('AgentBusy'));
    expect(again?.MaxAttempts, name).toBeGreaterThan(2);
  }
});

it('a transfer that is still being taken down is waited for longer than a teardown and the look behind it take', () => {
  const { States } = JSON.parse(ASL) as {
    States: Record<string, { Retry?: { ErrorEquals: string[]; IntervalSeconds: number; MaxAttempts: number }[] }>;
  };
  const waits = States['Validate Request']?.Retry?.find(({ ErrorEquals }) => ErrorEquals.includes('TransferEnding'));
  expect((waits?.IntervalSeconds ?? 0) * (waits?.MaxAttempts ?? 0)).toBeGreaterThan(120 + 60);
});

describe('approval', () => {
  const { States } = JSON.parse(ASL) as { States: Record<string, Record<string, unknown>> };

  it('lies between the estimate and everything that costs money', () => {
    expect(States['Estimate Transfer']?.Next).toBe('Is It to Be Moved?');
    expect(States['Is It to Be Moved?']).toMatchObject({
      Choices: [{ Next: 'Tear Down' }, { Next: 'Await Approval' }],
      Default: 'Is Anything to Be Restored?',
    });
    expect(States['Await Approval']?.Next).toBe('Apply Approval');
    expect(States['Apply Approval']?.Next).toBe('Is Anything to Be Restored?');
    expect(States['Is Anything to Be Restored?']).toMatchObject({
      Choices: [{ Next: 'Restore Objects' }, { Next: 'Copy Round' }],
      Default: 'Plan Chunks',
    });
  });

  it('ends after the time of the request, which the task outlasts, under a name that the command line knows', () => {
    const { TimeoutSeconds, HeartbeatSeconds, Catch } = States['Await Approval'] ?? {};
    const schema = JSON.parse(readFileSync(path.join(ROOT, 'contracts', 'transfer-request.schema.json'), 'utf8')) as {
      properties: { approvalTimeoutSeconds: { oneOf: { type: string; maximum?: number }[] } };
    };
    expect(HeartbeatSeconds).toBe('{% $transfer.request.approvalTimeoutSeconds %}');
    const seconds = schema.properties.approvalTimeoutSeconds.oneOf.find(({ type }) => type === 'integer');
    expect(TimeoutSeconds).toBeGreaterThan(seconds?.maximum ?? Infinity);
    const errors = readFileSync(path.join(ROOT, 'lambdas', 'core', 'errors.py'), 'utf8');
    const [, name] = /'Error': '(\w+)'/.exec(JSON.stringify(Catch)) ?? [];
    expect(errors).toContain(`class ${name}(`);
  });

  it('and the transfer together fit into the execution’s own time', () => {
    const { TimeoutSeconds } = JSON.parse(ASL) as { TimeoutSeconds: number };
    expect(TimeoutSeconds).toBeGreaterThan(604_800 + Number(States['Await Approval']?.TimeoutSeconds));
  });
});

describe('the fleet branch', () => {
  const { States } = JSON.parse(ASL) as { States: Record<string, Record<string, unknown>> };
  const [, fleet] = States['Move Data']?.Branches as { States: Record<string, Record<string, unknown>> }[];

  const [, measured] = States['Measure Paths']?.Branches as { States: Record<string, Record<string, unknown>> }[];
  const tasksOf = (states: Record<string, Record<string, unknown>>): Record<string, unknown>[] =>
    Object.values(states).filter(({ Type }) => Type === 'Task');

  it('never fails a transfer, and always fails an execution that was to measure its relays', () => {
    const { 'Finish Survey': survey, ...states } = fleet?.States ?? {};
    expect(survey?.Catch).toMatchObject([{ Next: 'Is the Survey Still Wanted?' }]);
    const relays = tasksOf(states);
    for (const { Catch } of relays) expect(Catch).toMatchObject([{ Next: 'Go On Without Relays' }]);
    expect(relays).toHaveLength(5);
    expect(fleet?.States['Go On Without Relays']).toMatchObject({ Type: 'Pass', End: true });
    const toMeasure = tasksOf(measured?.States ?? {});
    for (const { Catch } of toMeasure) expect(Catch).toMatchObject([{ Next: 'Nothing Measured' }]);
    expect(toMeasure).toHaveLength(3);
    expect(measured?.States['Nothing Measured']?.Type).toBe('Fail');
  });
});

describe('an execution that measures, or copies between buckets', () => {
  const machine = JSON.parse(ASL) as { States: Record<string, Record<string, unknown>> };
  const taskNames = (state: Record<string, unknown>): string[] => [
    ...(state.Type === 'Task' ? [(state.Arguments as { FunctionName: string }).FunctionName.slice(2, -'FunctionArn}'.length)] : []),
    ...[...((state.Branches ?? []) as StateMachine[]), ...(state.ItemProcessor === undefined ? [] : [state.ItemProcessor as StateMachine])]
      .flatMap(({ States }) => Object.values(States).flatMap((one) => taskNames(one as never))),
  ];

  it('is told from a transfer once, by the first state after its request is accepted', () => {
    expect(machine.States['Validate Request']?.Next).toBe('Are Archived Objects Wanted?');
    expect(machine.States['Are Archived Objects Wanted?']?.Default).toBe('Is It to Measure or to Copy?');
    expect(machine.States['Is Every Archived Object Listed?']).toMatchObject({
      Choices: [{ Next: 'Is It to Measure or to Copy?' }],
      Default: 'List Archived',
    });
    expect(machine.States['Is It to Measure or to Copy?']).toMatchObject({
      Choices: [
        { Condition: "{% $transfer.request.profile = 'measure' %}", Next: 'Look at Measured Ends' },
        {
          Condition: "{% $transfer.request.source.kind = 'bucket' and $transfer.request.destination.kind = 'bucket' %}",
          Next: 'Survey Buckets',
        },
      ],
      Default: 'Is a Price Awaited?',
    });
    expect(machine.States['Is a Price Awaited?']).toMatchObject({ Choices: [{ Next: 'Await Price' }], Default: 'Look at Ends' });
    expect(machine.States['Is the Price Low Enough?']).toMatchObject({ Choices: [{ Next: 'Wait for the Price' }], Default: 'Look at Ends' });
    expect(ASL.match(/profile/g)).toHaveLength(1);
    expect(ASL.match(/'bucket'/g)).toHaveLength(2);
  });

  it.each([
    ['Look at Measured Ends', MEASURING_STATES],
    // Archived objects are restored alike, whoever moves them then.
    ['Survey Buckets', [...COPYING_STATES, 'restore_objects']],
  ] as const)('shares from %s on no other function with a transfer but the last two, and is always torn down', (first, functions) => {
    const seen = new Set<string>();
    const todo: string[] = [first];
    for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
      if (seen.has(name) || name === 'Tear Down') continue;
      seen.add(name);
      const { Next, Default, Choices = [], Catch, Type } = machine.States[name] as {
        Next?: string; Default?: string; Choices?: { Next: string }[]; Catch?: { Next: string }[]; Type: string;
      };
      if (!['Choice', 'Wait'].includes(Type)) expect(Catch?.map((one) => one.Next), name).toEqual(['Tear Down']);
      // A transfer's way, which has no round of copies.
      const other = name === 'Is Anything to Be Restored?' ? undefined : Default;
      todo.push(...[Next, other, ...Choices.map((one) => one.Next)].filter((next) => next !== undefined));
    }
    const invoked = [...seen].flatMap((name) => taskNames(machine.States[name] ?? {}));
    expect(invoked.sort()).toEqual(functions.map((one) => pascalCase(one)).sort());
  });

  it('copies the units of one round while the next one is listed, and hands on numbers alone', () => {
    const { 'Copy Round': round, 'Is Everything Copied?': over } = machine.States;
    expect(round).toMatchObject({
      Items: '{% $append([-1], $round.units > 0 ? [0..$round.units - 1] : []) %}',
      MaxConcurrency: '{% $round.width + 1 %}',
      Assign: { round: '{% $states.result[0] %}' },
      Next: 'Is Everything Copied?',
    });
    expect(over).toMatchObject({ Choices: [{ Next: 'Finish Copies' }], Default: 'Copy Round' });
    const unit = (round?.ItemProcessor as { States: Record<string, object> }).States['Copy Unit'];
    expect(unit).toMatchObject({ Output: {}, End: true });
  });
});

describe('relays', () => {
  const { States } = JSON.parse(ASL) as {
    States: Record<string, { Next?: string; Default?: string; Choices?: { Condition: string; Next: string }[]; Catch?: { Next: string }[] }>;
  };

  it('end before what has arrived is verified, and a failure to end them stops nothing', () => {
    const [released, verified] = States['Did the Data Arrive?']?.Choices ?? [];
    expect(released).toEqual({
      Condition: "{% $failure = null and $states.input[1].outcome != 'direct' %}",
      Next: 'Release Relays',
    });
    expect(verified?.Next).toBe('Verify Transfer');
    expect(States['Release Relays']).toMatchObject({ Next: 'Verify Transfer', Catch: [{ Next: 'Verify Transfer' }] });
    expect(States['Verify Transfer']?.Next).toBe('Are There Extras?');
  });
});

describe('extras', () => {
  const { States } = JSON.parse(ASL) as {
    States: Record<string, { Next?: string; Default?: string; Choices?: { Condition: string; Next: string }[]; Catch?: { Next: string }[] }>;
  };

  it('are removed after everything is verified and at no other time, and whatever follows is taken down', () => {
    const leading = Object.entries(States).filter(([, state]) => JSON.stringify(state).includes('"Delete Extras"'));
    expect(leading.map(([name]) => name)).toEqual(['Are There Extras?']);
    const { Choices, Default } = States['Are There Extras?'] ?? {};
    expect(Choices?.map(({ Condition }) => Condition)).toEqual([
      '{% $verified.verified and $exists($survey.extras) and $survey.extras.parts > 0 %}',
    ]);
    expect(Default).toBe('Tear Down');
    const before = Object.entries(States).filter(([, state]) => JSON.stringify(state).includes('"Are There Extras?"'));
    expect(before.map(([name]) => name)).toEqual(['Verify Transfer']);
    expect(States['Delete Extras']).toMatchObject({ Next: 'Tear Down', Catch: [{ Next: 'Tear Down' }] });
  });

  it('that are in the way of what is to come go once all is decided and before data moves', () => {
    const leading = (name: string): string[] =>
      Object.entries(States)
        .filter(([, state]) => JSON.stringify(state).includes(`"${name}"`))
        .map(([from]) => from);
    expect(leading('Make Way')).toEqual(['Is Anything in the Way?']);
    expect(leading('Is Anything in the Way?')).toEqual(['Plan Chunks']);
    expect(States['Is Anything in the Way?']).toMatchObject({
      Choices: [{ Condition: '{% $exists($survey.extras.inTheWay) %}' }],
      Default: 'Move Data',
    });
    expect(States['Make Way']).toMatchObject({ Next: 'Move Data', Catch: [{ Next: 'Tear Down' }] });
  });
});

describe('the state machine', () => {
  const [machine] = Object.values(resources(synthesize().control, 'AWS::StepFunctions::StateMachine'));

  it('is valid Amazon States Language', () => {
    const definition = JSON.parse(
      ASL.replaceAll('${Partition}', 'aws').replaceAll(/\$\{\w+\}/g, 'arn:aws:lambda:us-west-2:123456789012:function:any'),
    ) as Record<string, unknown>;
    const { isValid, errors } = validateAsl(definition);
    expect(errors).toEqual([]);
    expect(isValid).toBe(true);
  });

  it('logs everything but the data, and traces', () => {
    expect(machine).toMatchObject({
      StateMachineName: 'cpt-transfer',
      LoggingConfiguration: { Level: 'ALL', IncludeExecutionData: false },
      TracingConfiguration: { Enabled: true },
    });
  });

  it('may invoke the functions of its tasks only', () => {
    const { control } = synthesize();
    const functions = resources(control, 'AWS::Lambda::Function');
    const role = text(Object.values(resources(control, 'AWS::StepFunctions::StateMachine'))[0]?.RoleArn).replace(
      /^<(.*)\.Arn>$/,
      '$1',
    );
    const invoked = Object.values(resources(control, 'AWS::IAM::Policy'))
      .filter(({ Roles }) => (Roles as unknown[]).map(text).includes(`<${role}>`))
      .flatMap(
        ({ PolicyDocument }) => (PolicyDocument as { Statement: { Action: unknown; Resource: unknown }[] }).Statement,
      )
      .filter(({ Action }) => [Action].flat().includes('lambda:InvokeFunction'))
      .flatMap(({ Resource }) => [Resource].flat().map(text))
      .map((arn) => functions[arn.replace(/^<(.*)\.Arn>$/, '$1')]?.FunctionName);
    expect(invoked.sort()).toEqual(STATES.map((state) => `cpt-${state.replaceAll('_', '-')}`).sort());
  });
});

it('two functions begin cold one after the other before data moves: the rest of them are warmed meanwhile', () => {
  const { States } = JSON.parse(ASL) as { States: Record<string, State & { Next?: string; Default?: string; Items?: string[] }> };
  const steps: string[][] = [];
  for (let at: string | undefined = 'Validate Request'; at !== undefined && at !== 'Move Data'; ) {
    const state: (typeof States)[string] | undefined = States[at];
    if (state?.Type === 'Task') steps.push([at]);
    const inner = (state?.Branches ?? []).flatMap(({ States: branch }) => Object.entries(branch));
    if (state?.Type === 'Parallel') steps.push(inner.filter(([, { Type }]) => Type === 'Task').map(([name]) => name));
    at = state?.Next ?? state?.Default;
  }
  steps.push(['Start Transfer']);
  const warmed = Object.entries(States)
    .flatMap(([, { Branches }]) => Branches ?? [])
    .flatMap(({ States: inner }) => (inner['Warm Functions'] as { Items?: string[] } | undefined)?.Items ?? []);
  const isWarm = (name: string): boolean => warmed.some((item) => item.includes(`{${name.replaceAll(' ', '')}Function`));
  expect(steps).toEqual([['Validate Request'], ['Resolve Paths', 'Survey Ends'], ['Estimate Transfer'], ['Plan Chunks'], ['Start Transfer']]);
  expect(steps.filter((names) => !names.every(isWarm))).toHaveLength(2);
});

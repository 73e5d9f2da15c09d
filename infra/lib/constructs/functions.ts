/** All Lambdas: one per task state, one per rule, and those that people invoke. */

import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import * as ssm from 'aws-cdk-lib/aws-ssm';
import { Construct } from 'constructs';
import { Settings } from '../config';
import { Daemons, functionEnvironment } from '../function-environment';
import { functionDefinitions } from '../functions/all';
import { Call, CALLS, environmentParameterName, functionName, Handler, pascalCase, Reaction, REACTIONS, SEALING, State, STATES, WAVE_STATES, WaveState } from '../names';
import { DeadLetterQueue } from './dead-letter-queue';
import { pythonCode } from './python-code';
import { PythonFunction } from './python-function';

export interface Reactor {
  readonly function: lambda.Function;
  /** Takes what the rule could not deliver, and what the function failed on for the last time. */
  readonly deadLetterQueue: sqs.Queue;
  /** What it is told comes again in a minute. */
  readonly perishable: boolean;
}

/** Which functions are made, by the way in which they are invoked. */
export interface Handlers {
  readonly states: readonly State[];
  readonly reactions: readonly Reaction[];
  readonly calls: readonly Call[];
  readonly waves: readonly WaveState[];
}

export class Functions extends Construct {
  /** Every function, whatever it is for. */
  public readonly all: readonly lambda.Function[];
  public readonly states: Readonly<Record<State, lambda.Function>>;
  public readonly reactions: Readonly<Record<Reaction, Reactor>>;
  public readonly calls: Readonly<Record<Call, lambda.Function>>;
  public readonly waves: Readonly<Record<WaveState, lambda.Function>>;

  /** @param handlers all that there are, but for a test of how many fit into a template */
  public constructor(
    scope: Construct,
    id: string,
    settings: Settings,
    daemons: Daemons,
    handlers: Handlers = { states: STATES, reactions: REACTIONS, calls: CALLS, waves: WAVE_STATES },
  ) {
    super(scope, id);
    const definitions = functionDefinitions(settings);
    // CloudFormation fills it into each function: the template has it once, and no function asks for it (docs/design/059).
    const { stringValue: environment } = new ssm.StringParameter(this, 'Environment', {
      parameterName: environmentParameterName(settings),
      description: 'What every function reads from its environment',
      stringValue: JSON.stringify(functionEnvironment(settings, daemons)),
    });
    const [code, sealing] = [pythonCode(), pythonCode({ sealing: true })];
    const make = (handler: Handler, deadLetterQueue?: sqs.IQueue): lambda.Function =>
      new PythonFunction(this, pascalCase(handler), {
        settings,
        handler,
        code: SEALING.includes(handler) ? sealing : code,
        environment,
        deadLetterQueue,
        reserved: definitions[handler].vital ? settings.reservedConcurrency || undefined : undefined,
        ...definitions[handler],
      }).function;
    this.states = record(handlers.states, (state) => make(state));
    this.calls = record(handlers.calls, (call) => make(call));
    this.waves = record(handlers.waves, (state) => make(state));
    this.reactions = record(handlers.reactions, (reaction) => {
      const { queue } = new DeadLetterQueue(
        this,
        `${pascalCase(reaction)}DeadLetters`,
        `${functionName(settings, reaction)}-dead-letters`,
      );
      const { perishable = false, queued = false } = definitions[reaction];
      return { function: make(reaction, queued ? undefined : queue), deadLetterQueue: queue, perishable };
    });
    this.all = [
      ...Object.values(this.states),
      ...Object.values(this.calls),
      ...Object.values(this.waves),
      ...Object.values(this.reactions).map((reactor) => reactor.function),
    ];
  }
}

function record<K extends string, V>(keys: readonly K[], value: (key: K) => V): Record<K, V> {
  return Object.fromEntries(keys.map((key) => [key, value(key)])) as Record<K, V>;
}

/** One Lambda: its own role, its own log group, tracing, and nothing that its definition in `functions` does not name. */

import { Duration, Validations } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { Access, acknowledgeWildcards, INLINE_POLICY, policyOf } from '../access/access';
import { Settings } from '../config';
import { functionName, Handler, handlerFunction } from '../names';
import { ARCHITECTURE, RUNTIME } from './python-code';
import { removal } from './removal';

/** How old an event may be when it is handed over: AWS's least, and what a lost event is looked for in. */
export const MINUTE = Duration.minutes(1);
export const HOUR = Duration.hours(1);

export interface PythonFunctionProps {
  readonly settings: Settings;
  readonly handler: Handler;
  readonly description: string;
  readonly code: lambda.Code;
  /** What all functions read from their environment, as JSON. */
  readonly environment: string;
  readonly access: readonly Access[];
  /** @default 60 s */
  readonly timeout?: Duration;
  /** @default 512 MB */
  readonly memorySize?: number;
  /** @default false: what failed is tried again, for an hour */
  readonly perishable?: boolean;
  /** Copies that run at once: so many are kept for it, and no more may run. @default as many as the account has left */
  readonly reserved?: number;
  /** Where events go that the function failed on. @default none: a task's caller sees the error */
  readonly deadLetterQueue?: sqs.IQueue;
}

export class PythonFunction extends Construct {
  public readonly function: lambda.Function;

  public constructor(scope: Construct, id: string, props: PythonFunctionProps) {
    super(scope, id);
    const name = functionName(props.settings, props.handler);
    const logGroup = new logs.LogGroup(this, 'Logs', {
      logGroupName: `/aws/lambda/${name}`,
      retention: logs.RetentionDays.ONE_MONTH,
      removalPolicy: removal(props.settings.logsOnDestroy),
    });
    const access: Access[] = [
      { actions: ['logs:CreateLogStream', 'logs:PutLogEvents'], resources: [logGroup.logGroupArn] },
      {
        actions: ['xray:PutTraceSegments', 'xray:PutTelemetryRecords'],
        resources: ['*'],
        why: 'X-Ray evaluates its Put actions without a resource.',
      },
      ...(props.deadLetterQueue ? [{ actions: ['sqs:SendMessage'], resources: [props.deadLetterQueue.queueArn] }] : []),
      ...props.access,
    ];
    const role = new iam.Role(this, 'Role', {
      assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com'),
      description: `What ${name} may do`,
      inlinePolicies: { [INLINE_POLICY]: policyOf(props.settings, access) },
    });
    acknowledgeWildcards(role, access);
    this.function = new lambda.Function(this, 'Function', {
      functionName: name,
      description: props.description,
      runtime: RUNTIME,
      architecture: ARCHITECTURE,
      code: props.code,
      handler: handlerFunction(props.handler),
      // The CDK would grant by itself what stands above, in a resource of its own.
      role: role.withoutPolicyUpdates(),
      logGroup,
      timeout: props.timeout ?? Duration.seconds(60),
      memorySize: props.memorySize ?? 512,
      tracing: lambda.Tracing.ACTIVE,
      loggingFormat: lambda.LoggingFormat.JSON,
      // After an hour the reconciler has found by itself what the event would have told.
      ...(props.deadLetterQueue && {
        deadLetterQueue: props.deadLetterQueue,
        ...(props.perishable ? { retryAttempts: 0, maxEventAge: MINUTE } : { retryAttempts: 2, maxEventAge: HOUR }),
      }),
      reservedConcurrentExecutions: props.reserved,
      environment: {
        SETTINGS: props.environment,
        POWERTOOLS_SERVICE_NAME: name,
        POWERTOOLS_METRICS_NAMESPACE: props.settings.name,
        LOG_LEVEL: 'INFO',
      },
    });
    Validations.of(this.function).acknowledge({
      id: 'AwsSolutions-L1',
      reason: 'AWS supports Python 3.13 until June 2029, as long as the latest; it is the newest that test machines have',
    });
  }
}

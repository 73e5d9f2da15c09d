/** The standing pool, in the home region: the table of its nodes and leases, and the function that keeps it. */

import { CfnOutput, DefaultStackSynthesizer, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as events from 'aws-cdk-lib/aws-events';
import * as sns from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { Settings } from './config';
import { DeadLetterQueue, ringForDeadLetters } from './constructs/dead-letter-queue';
import { pythonCode } from './constructs/python-code';
import { PythonFunction } from './constructs/python-function';
import { reactTo } from './constructs/reaction';
import { CONTROL } from './constructs/transfer-events';
import { Daemons, functionEnvironment } from './function-environment';
import { poolFunctions } from './functions/pool';
import { alarmTopicName, arn, functionName, pascalCase, POOL_TABLE, PoolHandler, tableName } from './names';

export class PoolStack extends Stack {
  public constructor(scope: Construct, private readonly settings: Settings, private readonly daemons: Daemons) {
    super(scope, `${settings.name}-pool`, {
      env: { region: settings.homeRegion },
      description: 'Cloud Parallel Transfer: the pool’s table, and what keeps its nodes',
      synthesizer: new DefaultStackSynthesizer({ generateBootstrapVersionRule: false }),
    });
    // Leases are a transfer's and nodes are launched anew: nothing in it is worth keeping.
    const table = new dynamodb.Table(this, 'Table', {
      tableName: tableName(settings, POOL_TABLE),
      partitionKey: { name: 'machine', type: dynamodb.AttributeType.STRING },
      sortKey: { name: 'record', type: dynamodb.AttributeType.STRING },
      billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
      encryption: dynamodb.TableEncryption.AWS_MANAGED,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.keeping('keep_pool');
    ringForDeadLetters(this, sns.Topic.fromTopicArn(this, 'Alarms', arn('sns', settings.homeRegion, alarmTopicName(settings))));
    new CfnOutput(this, 'PoolTableName', { value: table.tableName, description: 'Table of the pool’s nodes and leases' });
  }

  /** Each minute, and when transfers come, go or lose a relay. */
  private keeping(handler: PoolHandler): void {
    const name = functionName(this.settings, handler);
    const { queue } = new DeadLetterQueue(this, `${pascalCase(handler)}DeadLetters`, `${name}-dead-letters`);
    const made = new PythonFunction(this, pascalCase(handler), {
      settings: this.settings,
      handler,
      code: pythonCode(),
      environment: JSON.stringify(functionEnvironment(this.settings, this.daemons)),
      deadLetterQueue: queue,
      ...poolFunctions(this.settings)[handler],
    });
    const reactor = { function: made.function, deadLetterQueue: queue, perishable: true };
    const schedule = events.Schedule.rate(Duration.minutes(1));
    reactTo(new events.Rule(this, `${pascalCase(handler)}EachMinute`, { ruleName: name, schedule }), reactor);
    // What the next minute would find as well: a pool that is too small waits for nobody.
    reactTo(
      new events.Rule(this, `${pascalCase(handler)}OnChange`, {
        ruleName: `${name}-on-change`,
        eventBus: events.EventBus.fromEventBusName(this, 'Bus', this.settings.name),
        eventPattern: { source: [CONTROL], detailType: ['Transfer Started', 'Transfer Finished', 'Pool Leased', 'Relay Lost'] },
      }),
      reactor,
    );
  }
}

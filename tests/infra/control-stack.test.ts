import Ajv2020 from 'ajv/dist/2020';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import contract from '../../contracts/function-environment.schema.json';
import { CALLS, REACTIONS, SEALING, STATES, WAVE_STATES } from '../../infra/lib/names';
import {
  endpointPolicy,
  environmentBytes,
  rendered,
  resources,
  sharedEnvironment,
  statements,
  statementsOf,
  synthesize,
  text,
} from './synthesis';

const { control } = synthesize();
const functions = Object.values(resources(control, 'AWS::Lambda::Function'));
const [parameter] = Object.keys(resources(control, 'AWS::SSM::Parameter'));

/** What all functions read, with `<AWS::AccountId>` for a reference. */
function shared(template: Template): Record<string, unknown> {
  return JSON.parse(text(sharedEnvironment(template))) as Record<string, unknown>;
}

describe('tables', () => {
  const keys: [string, string[], string | undefined][] = [
    ['cpt-transfers', ['transferId', 'record'], undefined],
    ['cpt-chunks', ['rangeKey', 'itemKey'], 'expiresAt'],
    ['cpt-nodes', ['transferId', 'nodeId'], undefined],
    ['cpt-profiles', ['subject', 'regionPair'], undefined],
    ['cpt-control-tokens', ['transferId', 'task'], undefined],
    ['cpt-idempotency', ['id'], 'expiration'],
  ];
  it.each(keys)('%s', (name, attributes, expiry) => {
    control.hasResourceProperties('AWS::DynamoDB::Table', {
      TableName: name,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: attributes.map((AttributeName, index) => ({ AttributeName, KeyType: index === 0 ? 'HASH' : 'RANGE' })),
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      SSESpecification: { SSEEnabled: true },
      TimeToLiveSpecification: expiry === undefined ? Match.absent() : { AttributeName: expiry, Enabled: true },
    });
  });

  it('have the indexes that find running transfers and a node by its instance', () => {
    const indexes = Object.values(resources(control, 'AWS::DynamoDB::Table')).flatMap(
      ({ TableName, GlobalSecondaryIndexes }) =>
        ((GlobalSecondaryIndexes ?? []) as { IndexName: string; KeySchema: { AttributeName: string }[] }[]).map(
          ({ IndexName, KeySchema }) => [TableName, IndexName, KeySchema.map(({ AttributeName }) => AttributeName)],
        ),
    );
    expect(indexes).toEqual([
      ['cpt-transfers', 'active', ['active', 'transferId']],
      ['cpt-transfers', 'running', ['active', 'transferId']],
      ['cpt-nodes', 'by-instance', ['instanceId']],
      ['cpt-nodes', 'of-instance', ['instanceId']],
    ]);
  });

  it('hold in the indexes that are read nothing that a running transfer changes', () => {
    const indexes = Object.values(resources(control, 'AWS::DynamoDB::Table')).flatMap(
      ({ GlobalSecondaryIndexes }) => (GlobalSecondaryIndexes ?? []) as { IndexName: string; Projection: object }[],
    );
    expect(Object.fromEntries(indexes.map(({ IndexName, Projection }) => [IndexName, Projection]))).toEqual({
      active: { ProjectionType: 'ALL' },
      running: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['source', 'destination'] },
      'by-instance': { ProjectionType: 'ALL' },
      'of-instance': { ProjectionType: 'KEYS_ONLY' },
    });
  });
});

it('the control bucket is private, refuses plain HTTP, tells EventBridge, and forgets transfers', () => {
  control.hasResourceProperties('AWS::S3::Bucket', {
    BucketName: { 'Fn::Join': ['', ['cpt-control-', { Ref: 'AWS::AccountId' }, '-us-west-2']] },
    PublicAccessBlockConfiguration: {
      BlockPublicAcls: true,
      BlockPublicPolicy: true,
      IgnorePublicAcls: true,
      RestrictPublicBuckets: true,
    },
    NotificationConfiguration: { EventBridgeConfiguration: { EventBridgeEnabled: true } },
    LifecycleConfiguration: {
      Rules: ['transfers/', 'ends/', 'requests/', 'keys/', 'copies/', 'restores/'].map((prefix) =>
        Match.objectLike({ Prefix: prefix, ExpirationInDays: 30, Status: 'Enabled' }),
      ),
    },
  });
  control.hasResourceProperties('AWS::S3::BucketPolicy', {
    PolicyDocument: {
      Statement: Match.arrayWith([
        Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
      ]),
    },
  });
});

describe('functions', () => {
  it('are one per state, per reaction, and per call of people', () => {
    expect(functions.map(({ FunctionName }) => FunctionName).sort()).toEqual(
      [...STATES, ...WAVE_STATES, ...REACTIONS, ...CALLS].map((handler) => `cpt-${handler.replaceAll('_', '-')}`).sort(),
    );
  });

  it('run on the Python and the architecture that the local cloud runs', () => {
    for (const properties of functions) {
      expect(properties).toMatchObject({
        Runtime: 'python3.13',
        Architectures: ['x86_64'],
        TracingConfig: { Mode: 'Active' },
      });
    }
  });

  it('share one asset, but those that seal, whose asset has the library for it', () => {
    const assets = (sealing: boolean): Set<string> =>
      new Set(
        functions
          .filter(({ FunctionName }) => sealing === SEALING.some((name) => FunctionName === `cpt-${name.replaceAll('_', '-')}`))
          .map(({ Code }) => JSON.stringify(Code)),
      );
    expect([assets(false).size, assets(true).size]).toEqual([1, 1]);
    expect(assets(true)).not.toEqual(assets(false));
  });

  it('have a role and a log group with an end of their own', () => {
    expect(new Set(functions.map(({ Role }) => text(Role))).size).toBe(functions.length);
    const groups = resources(control, 'AWS::Logs::LogGroup');
    const used = functions.map(({ LoggingConfig }) =>
      text((LoggingConfig as { LogGroup: unknown }).LogGroup).slice(1, -1),
    );
    expect(new Set(used).size).toBe(functions.length);
    for (const id of used) expect(groups[id]?.RetentionInDays).toBe(30);
  });

  it('have the environment of the contract, within the 4 KB that Lambda allows', () => {
    const validate = new Ajv2020().compile(contract);
    for (const { Environment } of functions) {
      const { Variables } = Environment as { Variables: Record<string, unknown> };
      const { POWERTOOLS_SERVICE_NAME, POWERTOOLS_METRICS_NAMESPACE, LOG_LEVEL, ...ours } = Variables;
      expect([text(POWERTOOLS_SERVICE_NAME), POWERTOOLS_METRICS_NAMESPACE, LOG_LEVEL]).toEqual([expect.stringMatching(/^cpt-/), 'cpt', 'INFO']);
      expect(ours).toEqual({ SETTINGS: { 'Fn::GetAtt': [parameter, 'Value'] } });
      expect(environmentBytes(control, Variables)).toBeLessThan(4096);
    }
    validate(JSON.parse(rendered('', sharedEnvironment(control)) as string));
    expect(validate.errors).toBeNull();
  });

  it('have that environment from one parameter, of which CloudFormation fills in the value: nobody asks for it', () => {
    expect(resources(control, 'AWS::SSM::Parameter')).toMatchObject({ [parameter ?? '']: { Name: '/cpt/function-environment', Type: 'String' } });
    const reading = functions.filter(({ FunctionName }) =>
      statementsOf(control, FunctionName as string).some(({ actions, resources: on }) =>
        actions.some((action) => action.startsWith('ssm:GetParameter')) && on.some((arn) => arn.includes('function-environment')),
      ),
    );
    expect(reading).toEqual([]);
  });

  it('find the daemon in each region’s own asset bucket', () => {
    expectDaemons(control, ['x86_64']);
  });

  it('find the daemon for arm64 as well once it is built', () => {
    const { control: both } = synthesize({ instanceTypes: ['c7gn.large'] }, { arm64: true });
    expectDaemons(both, ['x86_64', 'arm64']);
  });

  it('keep copies for themselves only where the setting says so, and only those that transfers wait for', () => {
    const kept = (template: Template): [unknown, unknown][] =>
      Object.values(resources(template, 'AWS::Lambda::Function'))
        .filter(({ ReservedConcurrentExecutions }) => ReservedConcurrentExecutions !== undefined)
        .map(({ FunctionName, ReservedConcurrentExecutions }) => [FunctionName, ReservedConcurrentExecutions]);
    expect(kept(control)).toEqual([]);
    expect(kept(synthesize({ reservedConcurrency: 5 }).control).sort()).toEqual([
      ['cpt-finish-transfer', 5],
      ['cpt-issue-credentials', 5],
      ['cpt-watch-ends', 5],
    ]);
  });

  function expectDaemons(template: Template, architectures: string[]): void {
    const { buckets, files } = shared(template).DAEMON_ASSETS as {
      buckets: Record<string, string>;
      files: Record<string, { key: string; sha256: string }>;
    };
    expect(buckets).toEqual({
      'us-west-2': 'cdk-hnb659fds-assets-<AWS::AccountId>-us-west-2',
      'eu-west-1': 'cdk-hnb659fds-assets-<AWS::AccountId>-eu-west-1',
    });
    expect(Object.keys(files)).toEqual(architectures);
    for (const { sha256 } of Object.values(files)) expect(sha256).toMatch(/^[0-9a-f]{64}$/);
    // What the ends may read are the assets of the region that is asked: the key that stands once is the key in each.
    const policy = endpointPolicy(template);
    const readable = statements(policy?.PolicyDocument).flatMap((statement) => statement.resources);
    const bucket = 'cdk-hnb659fds-assets-<AWS::AccountId>-<aws:RequestedRegion>';
    for (const { key } of Object.values(files)) expect(readable).toContain(`arn:<AWS::Partition>:s3:::${bucket}/${key}`);
  }
});

describe('approval', () => {
  it('letters go to a topic that takes them over TLS only, and to nobody unless somebody is named', () => {
    control.hasResourceProperties('AWS::SNS::Topic', { TopicName: 'cpt-approvals' });
    control.hasResourceProperties('AWS::SNS::TopicPolicy', {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
        ]),
      },
    });
    control.resourceCountIs('AWS::SNS::Subscription', 0);
  });

  it('the addresses of the settings get them by mail', () => {
    const { control: mailing } = synthesize({ approvalMail: ['a@example.com', 'b@example.com'] });
    const subscriptions = Object.values(resources(mailing, 'AWS::SNS::Subscription'));
    expect(subscriptions.map(({ Protocol, Endpoint }) => [Protocol, Endpoint])).toEqual([
      ['email', 'a@example.com'],
      ['email', 'b@example.com'],
    ]);
  });

  it('every function knows that topic, and those may write to it that ask', () => {
    expect(shared(control).APPROVAL_TOPIC_ARN).toMatch(/:sns:us-west-2:.*:cpt-approvals$/);
    const writers = functions.filter(({ FunctionName }) =>
      statementsOf(control, FunctionName as string).some(({ actions }) => actions.includes('sns:Publish')),
    );
    expect(writers.map(({ FunctionName }) => FunctionName)).toEqual(['cpt-await-approval', 'cpt-await-measuring-approval']);
  });
});

it('outputs what an operator attaches and starts', () => {
  for (const name of [
    'StateMachineArn',
    'ControlBucketName',
    'EventBusName',
    'EndpointPolicyArn',
    'ApprovalTopicArn',
    'DecideApprovalFunctionArn',
    'EstimateRequestFunctionArn',
    'LimitTransferFunctionArn',
    'DrainSeatFunctionArn',
    'TeardownRequestFunctionArn',
    'TransfersTableName',
    'ChunksTableName',
  ]) {
    control.hasOutput(name, {});
  }
});

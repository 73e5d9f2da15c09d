/** Queries of Logs Insights that the runbook names, saved under the deployment's name. */

import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as logs from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { Settings } from '../config';

const FIELDS = ['@timestamp', 'service', 'message', 'error', 'decision', 'run'];
/** In the console a person puts a name in place of this. */
const NAME = 'NAME';

const QUERIES: Readonly<Record<string, logs.QueryStringProps>> = {
  transfer: { filterStatements: [`transfer_id = "${NAME}"`], sort: '@timestamp' },
  run: { filterStatements: [`run = "${NAME}"`], sort: '@timestamp' },
  defects: { filterStatements: ['decision = "defect"'], sort: '@timestamp desc' },
  throttled: { filterStatements: ['error = "Throttled"'], sort: '@timestamp desc' },
};

export class SavedQueries extends Construct {
  public constructor(scope: Construct, id: string, settings: Settings, functions: readonly lambda.Function[]) {
    super(scope, id);
    const logGroups = functions.map(({ logGroup }) => logGroup);
    for (const [name, query] of Object.entries(QUERIES)) {
      new logs.QueryDefinition(this, name, {
        queryDefinitionName: `${settings.name}/${name}`,
        queryString: new logs.QueryString({ fields: [...FIELDS, 'transfer_id'], limit: 1000, ...query }),
        logGroups,
      });
    }
  }
}

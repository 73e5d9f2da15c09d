/** Entry point of `cdk`: parts that were built before, settings from the context, stacks, checks. */

import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { settingsOf } from '../lib/config';
import { builtArchitectures } from '../lib/constructs/relay-daemon';
import { addDeployment } from '../lib/deployment';
import { UserError } from '../lib/errors';
import { refuseOldParts } from '../lib/freshness';

const app = new App();
try {
  refuseOldParts();
  addDeployment(app, settingsOf(app.node.getAllContext() as Record<string, unknown>, builtArchitectures()));
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  console.error(error.message);
  process.exit(1);
}
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));

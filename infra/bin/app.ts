/** Entry point of `cdk`: settings from the context, stacks, checks. */

import { App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { ConfigurationError, readSettings } from '../lib/config';
import { addDeployment } from '../lib/deployment';

const app = new App();
try {
  addDeployment(app, readSettings(app.node.tryGetContext('cpt')));
} catch (error) {
  if (!(error instanceof ConfigurationError)) throw error;
  console.error(error.message);
  process.exit(1);
}
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));

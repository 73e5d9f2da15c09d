/** What tenants have beside their aliases of the state machine: aliases of functions, policies, and room for schedules. */

import { CfnOutput, DefaultStackSynthesizer, Stack } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import { acknowledgeWildcards, INLINE_POLICY, policyOf, statement } from './access/access';
import { ofTenant, scheduledByTenant } from './access/tenants';
import { Settings } from './config';
import { schedulesOf } from './constructs/reaction';
import { arn, CALLS_OF_TENANTS, functionName, pascalCase, tenantPolicyName, tenantStartsGroupName, tenantStartsRoleName } from './names';

/** Everything of other stacks is named, and nothing imported: an export that changes while somebody imports it would stop an update. */
export class TenantsStack extends Stack {
  public constructor(scope: Construct, private readonly settings: Settings) {
    super(scope, `${settings.name}-tenants`, {
      env: { region: settings.homeRegion },
      description: 'Cloud Parallel Transfer: what tenants may do',
      synthesizer: new DefaultStackSynthesizer({ generateBootstrapVersionRule: false }),
    });
    for (const { name } of settings.tenants) this.addTenant(new Construct(this, name), name);
  }

  private addTenant(scope: Construct, tenant: string): void {
    const { settings } = this;
    for (const handler of [...CALLS_OF_TENANTS, 'start_from_schedule'] as const) {
      // It names who calls, and no other code: a version of its own would keep old code for tenants alone.
      new lambda.CfnAlias(scope, pascalCase(handler), {
        name: tenant,
        functionName: functionName(settings, handler),
        functionVersion: '$LATEST',
        description: `Calls of tenant ${tenant}`,
      });
    }
    new cloudwatch.Dashboard(scope, 'Dashboard', { dashboardName: tenantPolicyName(settings, tenant) }).addWidgets(
      new cloudwatch.CustomWidget({
        title: 'Live',
        functionArn: arn('lambda', settings.homeRegion, `function:${functionName(settings, 'show_transfers')}:${tenant}`),
        width: 24,
        height: 9,
        updateOnRefresh: true,
        updateOnResize: false,
        updateOnTimeRangeChange: false,
      }),
    );
    const group = tenantStartsGroupName(settings, tenant);
    new scheduler.CfnScheduleGroup(scope, 'Schedules', { name: group });
    new iam.Role(scope, 'SchedulesRole', {
      roleName: tenantStartsRoleName(settings, tenant),
      description: `What schedules of tenant ${tenant} may do`,
      assumedBy: schedulesOf(settings, group),
      inlinePolicies: { [INLINE_POLICY]: policyOf(settings, scheduledByTenant(settings, tenant)) },
    });
    const access = ofTenant(settings, tenant);
    const policy = new iam.ManagedPolicy(scope, 'Policy', {
      managedPolicyName: tenantPolicyName(settings, tenant),
      description: `Starts, sees, limits, approves and stops transfers of tenant ${tenant}, and no others`,
      statements: access.map(statement),
    });
    acknowledgeWildcards(policy, access);
    new CfnOutput(this, `${pascalCase(tenant)}TenantPolicyArn`, {
      value: policy.managedPolicyArn,
      description: `Attach this to whoever is of tenant ${tenant}`,
    });
  }
}

/** What `cpt.tenants` says: who shares a deployment, and on which terms. */

import type { Settings } from './config';
import { ConfigurationError } from './config-schema';

/** What a deployment grants a tenant; `settings.schema.json` says what each one means. What is absent is not limited. */
export interface TenantTerms {
  readonly weight?: number;
  readonly guaranteeMBps?: number;
  readonly limitMBps?: number;
  readonly activeTransfers?: number;
  readonly relays?: number;
  readonly usdPerMonth?: number;
}

export interface Tenant extends TenantTerms {
  readonly name: string;
}

/** A letter for each term, in the order of the contract `function-environment`: all functions have all tenants in 4 KB. */
const LETTERS = {
  weight: 'w',
  guaranteeMBps: 'g',
  limitMBps: 'l',
  activeTransfers: 't',
  relays: 'r',
  usdPerMonth: 'd',
} as const satisfies Readonly<Record<keyof TenantTerms, string>>;

/** The tenants as functions have them, e.g. `acme w=2 t=4 d=500`; `lambdas/core/pool/tenant.py` reads them. */
export function tenantWords({ tenants }: Pick<Settings, 'tenants'>): string[] {
  const keys = Object.keys(LETTERS) as (keyof TenantTerms)[];
  return tenants.map((tenant) =>
    [tenant.name, ...keys.flatMap((key) => (tenant[key] === undefined ? [] : [`${LETTERS[key]}=${tenant[key]}`]))].join(' '),
  );
}

/** @throws ConfigurationError */
export function checkTenants({ tenants, starts }: Settings): void {
  for (const [kind, named] of Object.entries(starts)) {
    for (const { name } of named) {
      const owner = tenants.find((tenant) => name.startsWith(`${tenant.name}-`));
      if (owner === undefined) continue;
      throw new ConfigurationError(
        `cpt.starts.${kind}.${name}`,
        name,
        `its transfers would be named like those of tenant ${owner.name}, and these starts are the operator's: ` +
          `call it so that it does not begin with ${owner.name}-`,
      );
    }
  }
  for (const { name, guaranteeMBps = 0, limitMBps = Infinity } of tenants) {
    if (guaranteeMBps > limitMBps) {
      throw new ConfigurationError(
        `cpt.tenants.${name}.guaranteeMBps`,
        guaranteeMBps,
        `it is above the tenant's limitMBps, ${limitMBps}: write ${limitMBps} or less, or a higher limit`,
      );
    }
  }
}

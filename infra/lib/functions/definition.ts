/** What a Lambda's definition says; the definitions lie beside this file, in the groups of `lambdas/handlers`. */

import { Duration } from 'aws-cdk-lib';
import { Access } from '../access/access';
import { ItemAction, table } from '../access/control-data';
import { Settings } from '../config';

export interface FunctionDefinition {
  readonly description: string;
  readonly access: readonly Access[];
  /** @default 60 s */
  readonly timeout?: Duration;
  /** @default 512 MB */
  readonly memorySize?: number;
  /** What it is told comes again in a minute: then what is late is dropped, and what failed is not tried again. */
  readonly perishable?: boolean;
  /** It reads a queue, which keeps what failed: nobody invokes it asynchronously. */
  readonly queued?: boolean;
  /** Transfers wait for it, or end without it: it gets the setting `reservedConcurrency`. */
  readonly vital?: boolean;
}

// Lambda's own limit; the state machine gives these tasks ten seconds more.
export const LONG = Duration.minutes(15);

/** Access to the tables that many functions have alike. */
export interface Tables {
  readonly on: (name: Parameters<typeof table>[1], ...actions: ItemAction[]) => Access;
  /** Every state notes its times in the record. */
  readonly noteTimes: Access;
  readonly readAndNote: Access;
  readonly membership: Access;
}

export function tables(settings: Settings): Tables {
  const on = table.bind(undefined, settings);
  return {
    on,
    noteTimes: on('transfers', 'UpdateItem'),
    readAndNote: on('transfers', 'GetItem', 'UpdateItem'),
    membership: on('transfers', 'GetItem', 'PutItem', 'UpdateItem'),
  };
}

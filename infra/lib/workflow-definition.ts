/** The definitions of the state machines, from `statemachine/`. */

import { readFileSync } from 'node:fs';
import * as path from 'node:path';

const FOLDER = path.resolve(__dirname, '..', '..', 'statemachine');

/** The text of `transfer.asl.json` or `waves.asl.json`, in which each line `"@NAME"` stands for the retry of that name in `retries.json`. */
export function workflowDefinition(machine: 'transfer' | 'waves' = 'transfer'): string {
  const retries = JSON.parse(readFileSync(path.join(FOLDER, 'retries.json'), 'utf8')) as Record<string, object>;
  const text = readFileSync(path.join(FOLDER, `${machine}.asl.json`), 'utf8');
  return text.replace(/^( *)"@(\w+)"/gm, (_, indent: string, name: string) => {
    if (retries[name] === undefined) throw new Error(`statemachine/retries.json has no retry named ${name}`);
    return JSON.stringify(retries[name], null, 2).replace(/^/gm, indent);
  });
}

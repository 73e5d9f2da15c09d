/** Settings held against `settings.schema.json`; the first thing that is wrong becomes an error for a person. */

import Ajv2020, { ErrorObject } from 'ajv/dist/2020';
import request from '../../contracts/transfer-request.schema.json';
import { UserError } from './errors';
import schema from './settings.schema.json';

export type Json = Readonly<Record<string, unknown>>;

/** A setting that cannot be used; the message names the key, the value and what would be right. */
export class ConfigurationError extends UserError {
  public constructor(key: string, value: unknown, remedy: string) {
    super(`context key "${key}" is ${value === undefined ? 'missing' : JSON.stringify(value)}: ${remedy}`);
    this.name = 'ConfigurationError';
  }
}

/** What a schema says for people. */
interface Said {
  readonly properties?: Readonly<Record<string, Said>>;
  readonly description?: string;
  readonly remedy?: string;
  readonly example?: string;
  readonly unknownKey?: string;
}

/** All keys of `cpt`. */
export const KEYS = Object.keys(schema.properties);

/** The value of every key that may be left out. */
export const DEFAULTS: Json = Object.fromEntries(
  Object.entries(schema.properties).flatMap(([key, said]) => ('default' in said ? [[key, said.default]] : [])),
);

// All of what is wrong, with the part of the schema that says so: the first is seldom the one that helps.
const validate = new Ajv2020({ allErrors: true, verbose: true, strictTypes: false })
  .addVocabulary(['remedy', 'example', 'unknownKey'])
  .addFormat('time-zone', isTimeZone)
  .addSchema(request)
  .compile(schema);

/** @throws ConfigurationError */
export function judge(settings: unknown): void {
  if (validate(settings)) return;
  const errors = ofTheKindThatIsMeant((validate.errors ?? []).filter(({ keyword }) => !['if', 'propertyNames'].includes(keyword)));
  // A misspelt key before the one that is missing for it; of alternatives, the one whose type fits.
  const error =
    errors.find(({ keyword }) => keyword === 'additionalProperties') ??
    errors.find(({ keyword }) => !['const', 'type'].includes(keyword)) ??
    errors[0];
  if (error === undefined) throw new Error('settings are refused without an error');
  const params = error.params as { additionalProperty?: string; missingProperty?: string };
  const inner = params.additionalProperty ?? params.missingProperty;
  const key = keyOf(error);
  if (inner === undefined) throw new ConfigurationError(key, error.data, remedy(error));
  throw new ConfigurationError(`${key}.${inner}`, (error.data as Json)[inner], remedy(error));
}

// What an end is that names no kind.
const USUAL_KIND = 'machine';

/** Errors of an end that names another kind than the usual one come from all alternatives: only that kind's say what is wrong. */
function ofTheKindThatIsMeant(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  return errors.filter(({ data, keyword, instancePath, parentSchema }) => {
    const of = (parentSchema as { properties?: { kind?: { const?: unknown } } }).properties?.kind?.const;
    if (keyword === 'const' && instancePath.endsWith('/kind')) return data === USUAL_KIND;
    const meant = typeof data === 'object' && data !== null && 'kind' in data ? data.kind : USUAL_KIND;
    if (meant === USUAL_KIND) return of === undefined || of === USUAL_KIND;
    return of === meant || (of === undefined && keyword === 'oneOf' && 'description' in (parentSchema as object));
  });
}

/** `/starts/objects/a` → `cpt.starts.objects.a`. Items of a list that says itself what would be right have the list's key. */
function keyOf({ instancePath, parentSchema }: ErrorObject): string {
  const names = instancePath.split('/').slice(1);
  if ((parentSchema as Said).remedy !== undefined && /^\d+$/.test(names.at(-1) ?? '')) names.pop();
  const keys = names.map((name) => (/^\d+$/.test(name) ? `[${name}]` : `.${name.replaceAll('~1', '/').replaceAll('~0', '~')}`));
  return `cpt${keys.join('')}`;
}

function remedy({ keyword, params, message, parentSchema }: ErrorObject): string {
  const said = parentSchema as Said;
  const given = params as { allowedValues: unknown[]; allowedValue: unknown; missingProperty: string };
  switch (keyword) {
    case 'additionalProperties':
      return `no such key; ${said.unknownKey ?? `the keys are ${Object.keys(said.properties ?? {}).join(', ')}`}`;
    case 'required':
      return right(said.properties?.[given.missingProperty] ?? {}) ?? 'a request needs it';
    case 'enum':
      return `write one of ${quoted(given.allowedValues)}`;
    case 'const':
      return `write ${JSON.stringify(given.allowedValue)}`;
    case 'oneOf':
      return said.description ?? '';
    default:
      return (keyword === 'type' ? right(said) : said.remedy) ?? `it ${message ?? ''}`;
  }
}

function right({ remedy, example }: Said): string | undefined {
  return example === undefined ? remedy : `write an object; ${example}`;
}

export function quoted(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join(', ');
}

function isTimeZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
  } catch {
    return false;
  }
  // Intl may know offsets like +01:00 too; EventBridge Scheduler wants a name.
  return /^[A-Za-z0-9_+/-]+$/.test(zone);
}

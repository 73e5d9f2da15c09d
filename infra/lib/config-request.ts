/** Templates of requests in the settings, held against the contract that the request itself is held against. */

import Ajv2020, { ErrorObject } from 'ajv/dist/2020';
import contract from '../../contracts/transfer-request.schema.json';
import { asObject, ConfigurationError, Json } from './config-values';

// All of what is wrong, with the part of the contract that says so: the first is seldom the one that helps.
const validate = new Ajv2020({ allErrors: true, verbose: true }).compile(contract);

const NOT_IN_TEMPLATES = {
  name: 'leave it out: each start is named by itself',
  resume: 'leave it out: each start is a new transfer, there is none to go on with',
} as const;

/**
 * A template as it is written; `{key}` may stand in its paths.
 * @param regions those that are enrolled
 * @throws ConfigurationError
 */
export function readRequest(key: string, value: unknown, example: string, regions: readonly string[]): Json {
  const request = asObject(key, value, example);
  for (const [name, remedy] of Object.entries(NOT_IN_TEMPLATES)) {
    if (request[name] !== undefined) throw new ConfigurationError(`${key}.${name}`, request[name], remedy);
  }
  if (!validate(request)) throw refusal(key, validate.errors ?? []);
  for (const end of ['source', 'destination']) {
    const { region } = request[end] as { region: string };
    if (!regions.includes(region)) {
      throw new ConfigurationError(`${key}.${end}.region`, region, `enrol it in cpt.regions, or write one of ${quoted(regions)}`);
    }
  }
  // Input transformers take what is between < and > for a variable.
  if (/[<>]/.test(JSON.stringify(request))) {
    throw new ConfigurationError(key, request, 'EventBridge takes no < or > in it; rename the path');
  }
  return request;
}

/** A misspelt key before the one that is missing for it; of alternatives, the one whose type fits. */
function refusal(key: string, errors: readonly ErrorObject[]): ConfigurationError {
  const error =
    errors.find(({ keyword }) => keyword === 'additionalProperties') ??
    errors.find(({ keyword }) => !['const', 'type'].includes(keyword)) ??
    errors[0];
  if (error === undefined) throw new Error(`${key} is refused without an error`);
  const params = error.params as { additionalProperty?: string; missingProperty?: string };
  const inner = params.additionalProperty ?? params.missingProperty;
  const at = key + error.instancePath.replace(/\/(\d+)/g, '[$1]').replaceAll('/', '.');
  if (inner === undefined) return new ConfigurationError(at, error.data, remedy(error));
  return new ConfigurationError(`${at}.${inner}`, (error.data as Json)[inner], remedy(error));
}

function remedy({ keyword, params, message, parentSchema }: ErrorObject): string {
  const { properties, description } = parentSchema as { properties?: Json; description?: string };
  switch (keyword) {
    case 'additionalProperties':
      return `no such key; the keys are ${Object.keys(properties ?? {}).join(', ')}`;
    case 'required':
      return 'a request needs it';
    case 'enum':
      return `write one of ${quoted((params as { allowedValues: unknown[] }).allowedValues)}`;
    case 'const':
      return `write ${JSON.stringify((params as { allowedValue: unknown }).allowedValue)}`;
    case 'oneOf':
      return description ?? '';
    default:
      return `it ${message ?? ''}`;
  }
}

function quoted(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join(', ');
}

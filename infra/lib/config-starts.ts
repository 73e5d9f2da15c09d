/** What starts transfers by itself: `cpt.starts` of cdk.json, checked and typed. */

import { readRequest } from './config-request';
import { asObject, ConfigurationError, Json, matching, refuseUnknown } from './config-values';

/** Each object that is written under a prefix of a bucket starts a transfer. */
export interface ObjectStart {
  readonly name: string;
  /** In the home region, with EventBridge notifications on. */
  readonly bucket: string;
  readonly prefix: string;
  /** Template of the request: `{key}` in its texts becomes the object's key. */
  readonly request: Json;
}

/** A transfer that starts at set times. */
export interface ScheduleStart {
  readonly name: string;
  /** `cron(…)` or `rate(…)`, as EventBridge Scheduler takes it. */
  readonly expression: string;
  /** IANA name of the zone that the expression is read in. */
  readonly timeZone: string;
  readonly request: Json;
}

export interface Starts {
  readonly objects: readonly ObjectStart[];
  readonly schedules: readonly ScheduleStart[];
}

const NAME = /^[a-z][a-z0-9-]{0,29}$/;
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const EXPRESSION = /^(cron\([^()\s]+( +[^()\s]+){5}\)|rate\([1-9]\d* (minutes?|hours?|days?)\))$/;
const NAME_REMEDY = 'call it by up to 30 lower-case letters, digits and dashes';
const EXAMPLE = 'docs/use.md has an example under "Starting"';

/**
 * @param regions those that are enrolled
 * @throws ConfigurationError
 */
export function readStarts(value: unknown, regions: readonly string[]): Starts {
  const raw = asObject('cpt.starts', value, EXAMPLE);
  refuseUnknown('cpt.starts', raw, ['objects', 'schedules']);
  return {
    objects: entries('cpt.starts.objects', raw.objects).map(([key, name, entry]) => {
      refuseUnknown(key, entry, ['bucket', 'prefix', 'request']);
      return {
        name,
        bucket: matching(`${key}.bucket`, entry.bucket, BUCKET, 'write the name of a bucket of the home region'),
        prefix: matching(`${key}.prefix`, entry.prefix ?? '', /^[^*\\]*$/, 'write the beginning of a key, without *'),
        request: readRequest(`${key}.request`, entry.request, EXAMPLE, regions),
      };
    }),
    schedules: entries('cpt.starts.schedules', raw.schedules).map(([key, name, entry]) => {
      refuseUnknown(key, entry, ['expression', 'timeZone', 'request']);
      return {
        name,
        expression: matching(
          `${key}.expression`,
          entry.expression,
          EXPRESSION,
          'write "cron(MINUTE HOUR DAY MONTH WEEKDAY YEAR)" or "rate(N hours)", e.g. "cron(30 2 * * ? *)"',
        ),
        timeZone: readTimeZone(`${key}.timeZone`, entry.timeZone ?? 'UTC'),
        request: readRequest(`${key}.request`, entry.request, EXAMPLE, regions),
      };
    }),
  };
}

function entries(key: string, value: unknown): [key: string, name: string, entry: Json][] {
  return Object.entries(asObject(key, value ?? {}, EXAMPLE)).map(([name, entry]) => [
    `${key}.${matching(key, name, NAME, NAME_REMEDY)}`,
    name,
    asObject(`${key}.${name}`, entry, EXAMPLE),
  ]);
}

function readTimeZone(key: string, value: unknown): string {
  const zone = matching(key, value, /^[A-Za-z0-9_+/-]+$/, 'write the name of a time zone, e.g. "Europe/Berlin"');
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
  } catch {
    throw new ConfigurationError(key, zone, 'write the name of a time zone, e.g. "Europe/Berlin"');
  }
  return zone;
}

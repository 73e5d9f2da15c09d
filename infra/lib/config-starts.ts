/** What `cpt.starts` may say beyond what its schema can judge. */

import type { AllowedBucket, ObjectStart, Settings } from './config';
import { ConfigurationError, Json, quoted } from './config-schema';

/** A start of objects as it is written. */
export interface WrittenObjectStart {
  readonly bucket: string;
  readonly prefix?: string;
  readonly suffix?: string;
  readonly windowSeconds?: number;
  readonly request: Json;
}

interface End {
  readonly kind?: string;
  readonly region: string;
  readonly bucket?: string;
  readonly prefix?: string;
  readonly keys?: unknown;
}

// Less than a minute would make a transfer of each object again: a transfer takes about that long around its data.
const WINDOW_SECONDS = 60;
// EventBridge takes 8 192 characters of a target's template; the rest is around the request.
const MOST_TEMPLATE_CHARACTERS = 7_000;

const NOT_IN_TEMPLATES = {
  name: 'leave it out: each start is named by itself',
  resume: 'leave it out: each start is a new transfer, there is none to go on with',
} as const;

/** The start with what it leaves out: objects are collected where the source is a bucket. */
export function objectStart(name: string, written: WrittenObjectStart, homeRegion: string): ObjectStart {
  const source = end(written.request, 'source');
  const start = { name, prefix: '', region: homeRegion, ...written };
  return source.kind === 'bucket' ? { windowSeconds: WINDOW_SECONDS, ...start, region: source.region } : start;
}

/** @throws ConfigurationError */
export function checkTemplates({ name: deployment, starts, regions, buckets }: Settings): void {
  const enrolled = regions.map(({ region }) => region);
  for (const start of starts.objects) {
    checkListening(start, deployment, enrolled);
    checkTemplate(`cpt.starts.objects.${start.name}.request`, start.request, enrolled, buckets);
  }
  for (const { name, request } of starts.schedules) checkTemplate(`cpt.starts.schedules.${name}.request`, request, enrolled, buckets);
  checkCircles(starts.objects);
}

function checkTemplate(key: string, request: Json, enrolled: readonly string[], allowed: readonly AllowedBucket[]): void {
  for (const [name, remedy] of Object.entries(NOT_IN_TEMPLATES)) {
    if (request[name] !== undefined) throw new ConfigurationError(`${key}.${name}`, request[name], remedy);
  }
  for (const side of ['source', 'destination'] as const) {
    const { kind, region, bucket, prefix = '' } = end(request, side);
    const use = side === 'source' ? 'read' : 'write';
    if (kind !== 'bucket') {
      if (!enrolled.includes(region)) throw new ConfigurationError(`${key}.${side}.region`, region, enrol(enrolled));
    } else if (!allowed.some((one) => one.bucket === bucket && one.region === region && prefix.startsWith(one.prefix) && one[use])) {
      throw new ConfigurationError(
        `${key}.${side}`,
        { bucket, prefix, region },
        `no entry of cpt.buckets lets transfers ${use} there: add it with "${use}": true, or correct bucket, prefix or region`,
      );
    }
  }
  const text = JSON.stringify(request);
  // Input transformers take what is between < and > for a variable.
  if (/[<>]/.test(text)) {
    throw new ConfigurationError(key, request, 'EventBridge takes no < or > in it; rename the path');
  }
  if (text.length > MOST_TEMPLATE_CHARACTERS) {
    throw new ConfigurationError(
      key,
      `${text.slice(0, 40)}…`,
      `it has ${text.length} characters; EventBridge takes ${MOST_TEMPLATE_CHARACTERS} of a template`,
    );
  }
}

/** Whether events of the bucket come here, and name what the request moves. */
function checkListening(start: ObjectStart, deployment: string, enrolled: readonly string[]): void {
  const { bucket, prefix, region, request, windowSeconds } = start;
  const key = `cpt.starts.objects.${start.name}`;
  if (bucket.startsWith(`${deployment}-control-`)) {
    throw new ConfigurationError(`${key}.bucket`, bucket, 'the control bucket holds no data; name a bucket of yours');
  }
  const source = end(request, 'source');
  if (source.kind !== 'bucket') {
    if (windowSeconds === undefined) return;
    throw new ConfigurationError(
      `${key}.windowSeconds`,
      windowSeconds,
      `each object starts a transfer of its own, as the source is no bucket; leave it out, or write ` +
        `"source": {"kind": "bucket", "bucket": ${JSON.stringify(bucket)}, "region": …}, and objects are collected`,
    );
  }
  // The control stack hears the home region itself.
  if (!enrolled.includes(region)) throw new ConfigurationError(`${key}.request.source.region`, region, enrol(enrolled));
  if (source.bucket !== bucket) {
    throw new ConfigurationError(
      `${key}.request.source.bucket`,
      source.bucket,
      `the objects that come are moved: write ${JSON.stringify(bucket)}, as in ${key}.bucket`,
    );
  }
  const { prefix: moved = '' } = source;
  if (!prefix.startsWith(moved)) {
    throw new ConfigurationError(
      `${key}.request.source.prefix`,
      moved,
      `keys that begin with ${JSON.stringify(prefix)} (${key}.prefix) do not all begin with it; write a beginning of that which ends with /`,
    );
  }
  if (source.keys !== undefined) {
    throw new ConfigurationError(`${key}.request.source.keys`, source.keys, 'leave it out: each start has the list of what has come');
  }
  if (JSON.stringify(request).includes('{key}')) {
    throw new ConfigurationError(`${key}.request`, '{key}', 'leave it out: objects are collected, and a transfer has a list of keys');
  }
}

/** A transfer that writes where a start listens starts another one: no start may come back to itself. */
function checkCircles(starts: readonly ObjectStart[]): void {
  for (const first of starts) {
    const way = [first];
    for (const start of way) {
      if (writesWhere(start, first)) throw circle(first, start);
      way.push(...starts.filter((next) => !way.includes(next) && writesWhere(start, next)));
    }
  }
}

function writesWhere({ request }: ObjectStart, { bucket, prefix }: ObjectStart): boolean {
  const destination = end(request, 'destination');
  if (destination.kind !== 'bucket' || destination.bucket !== bucket) return false;
  const written = destination.prefix ?? '';
  return written.startsWith(prefix) || prefix.startsWith(written);
}

function circle(first: ObjectStart, last: ObjectStart): ConfigurationError {
  const { bucket, prefix } = first;
  const listened = `${bucket}/${prefix}`;
  const comesFrom = first === last ? 'it' : `cpt.starts.objects.${last.name}, which it leads to,`;
  return new ConfigurationError(
    `cpt.starts.objects.${first.name}`,
    { bucket, prefix },
    `${comesFrom} writes where it listens (${listened}), so it would start itself for ever; write to another bucket or prefix`,
  );
}

function end(request: Json, side: 'source' | 'destination'): End {
  return request[side] as End;
}

function enrol(enrolled: readonly string[]): string {
  return `enrol it in cpt.regions, or write one of ${quoted(enrolled)}`;
}

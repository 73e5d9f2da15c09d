/** Readers of single settings: each returns the value typed, or says what is wrong with it. */

import { UserError } from './errors';

export type Json = Readonly<Record<string, unknown>>;

/** A setting that cannot be used; the message names the key, the value and what would be right. */
export class ConfigurationError extends UserError {
  public constructor(key: string, value: unknown, remedy: string) {
    super(`context key "${key}" is ${value === undefined ? 'missing' : JSON.stringify(value)}: ${remedy}`);
    this.name = 'ConfigurationError';
  }
}

export function asObject(key: string, value: unknown, example = 'cdk.json has an example under "context"'): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ConfigurationError(key, value, `write an object; ${example}`);
  }
  return value as Json;
}

export function refuseUnknown(
  key: string,
  raw: Json,
  known: readonly string[],
  why = `the keys are ${known.join(', ')}`,
): void {
  const unknown = Object.keys(raw).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new ConfigurationError(`${key}.${unknown}`, raw[unknown], `no such key; ${why}`);
}

export function matching(key: string, value: unknown, pattern: RegExp, remedy: string): string {
  if (typeof value !== 'string' || !pattern.test(value)) throw new ConfigurationError(key, value, remedy);
  return value;
}

export function textList(key: string, value: unknown, pattern: RegExp, example: string): string[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  const texts = items.filter((item): item is string => typeof item === 'string' && pattern.test(item));
  if (texts.length === 0 || texts.length !== items.length) {
    const wrong = items.find((item) => typeof item !== 'string' || !pattern.test(item));
    throw new ConfigurationError(key, wrong ?? value, `write a list such as ${example}`);
  }
  return texts;
}

export function wholeNumber(key: string, value: unknown, least: number, most: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most) {
    throw new ConfigurationError(key, value, `write a whole number from ${least} to ${most}`);
  }
  return value;
}

export function positive(key: string, value: unknown, most: number): number {
  if (typeof value !== 'number' || !(value > 0 && value <= most)) {
    throw new ConfigurationError(key, value, `write a number above 0, ${most} at most`);
  }
  return value;
}

export function oneOf<const T extends readonly string[]>(key: string, value: unknown, choices: T): T[number] {
  if (typeof value !== 'string' || !choices.includes(value)) {
    throw new ConfigurationError(key, value, `write one of ${choices.map((choice) => `"${choice}"`).join(', ')}`);
  }
  return value;
}

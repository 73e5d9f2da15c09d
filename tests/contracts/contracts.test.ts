// Every golden example is judged by its schema as its folder says.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv2020 from 'ajv/dist/2020';
import { describe, expect, test } from 'vitest';

const contracts = join(__dirname, '..', '..', 'contracts');
const read = (path: string): object => JSON.parse(readFileSync(path, 'utf8')) as object;

for (const kind of ['good', 'bad']) {
  for (const contract of readdirSync(join(contracts, 'examples', kind))) {
    describe(`${kind} ${contract}`, () => {
      const validate = new Ajv2020({ strict: false }).compile(read(join(contracts, `${contract}.schema.json`)));
      const folder = join(contracts, 'examples', kind, contract);
      test.each(readdirSync(folder))('%s', (file) => {
        expect(validate(read(join(folder, file)))).toBe(kind === 'good');
      });
    });
  }
}

/** Lets answers of Vitest's own process in between tests: a synthesis lets nothing in, and after a minute without one Vitest gives up. */

import { beforeEach } from 'vitest';

beforeEach(
  () =>
    new Promise<void>((resolve) => {
      setImmediate(resolve);
    }),
);

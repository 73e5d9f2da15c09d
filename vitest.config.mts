import { defineConfig } from 'vitest/config';

// A first synthesis takes 1 s alone, and many times that while others build on the same two cores; so does the removal of an asset's folder.
const LONGEST_MS = 120_000;

export default defineConfig({
  test: {
    // Only our own tests: a demo leaves copies of other projects' tests below .local.
    include: ['tests/**/*.test.ts'],
    // Loading the CDK takes some 8 s: once for each process, and not once for each file. No test replaces a module.
    isolate: false,
    setupFiles: ['tests/infra/yielding.ts'],
    testTimeout: LONGEST_MS,
    hookTimeout: LONGEST_MS,
    teardownTimeout: LONGEST_MS,
  },
});

import { defineConfig } from 'vitest/config';

// Only our own tests: a demo leaves copies of other projects' tests below .local.
export default defineConfig({ test: { include: ['tests/**/*.test.ts'] } });

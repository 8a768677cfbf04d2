import { defineConfig } from 'vitest/config';

/** One project a folder of test/: each answers one question at its own cost. */
const project = (
  name: string,
  more: {
    testTimeout?: number;
    hookTimeout?: number;
    fileParallelism?: boolean;
    globalSetup?: string[];
    setupFiles?: string[];
    isolate?: boolean;
  } = {},
) => ({
  test: { name, include: [`test/${name}/**/*.test.ts`], environment: 'node', ...more },
});

export default defineConfig({
  test: {
    reporters: ['default'],
    projects: [
      project('unit'),
      project('adapters'),
      project('contract', { testTimeout: 20_000 }),
      project('lambdas', { testTimeout: 20_000 }),
      // The CDK takes seconds to load: once a worker, not once a file.
      project('infra', { testTimeout: 60_000, hookTimeout: 120_000, isolate: false }),
      project('architecture', { testTimeout: 60_000 }),
      // Each file uses both cores.
      project('simulation', { testTimeout: 60_000, fileParallelism: false }),
      // The local cloud is one process that all files share: one file at a time.
      project('emulator', {
        testTimeout: 120_000,
        hookTimeout: 120_000,
        fileParallelism: false,
        globalSetup: ['test/emulator/global-setup.ts'],
        setupFiles: ['test/emulator/enter-cloud.ts'],
      }),
      // By itself, `npm run chaos`: minutes of visibility time-outs.
      project('chaos', {
        hookTimeout: 120_000,
        globalSetup: ['test/emulator/global-setup.ts'],
        setupFiles: ['test/emulator/enter-cloud.ts'],
      }),
    ],
    coverage: {
      provider: 'v8',
      // `vitest run --project unit --coverage`: the pure core is covered to the last branch by its unit tests alone.
      include: ['lib/core/**/*.ts'],
      reporter: ['text'],
      thresholds: { statements: 100, branches: 100, functions: 100, lines: 100 },
    },
  },
});

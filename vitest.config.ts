import { defineConfig } from 'vitest/config'

/** What is waited for comes, however slow the machine is; the bound is there for what never does. */
const POLL_MS = 60_000

/** One tier of tests: a folder with a name, and how long one test of it may take at most. */
const tier = (name: string, include: string[], testTimeout: number, more: Record<string, unknown> = {}) => ({
  test: { name, include, testTimeout, hookTimeout: testTimeout, expect: { poll: { timeout: POLL_MS } }, ...more },
})

/** Tiers that start servers, write much or watch memory run one file at a time: they measure themselves otherwise. */
const alone = { fileParallelism: false }

/**
 * Unit tests replace no modules and modules keep no state, so files share a process, and what they import is read once. That
 * takes a third of the processor time away.
 */
const together = { isolate: false }

/** Tiers that start the compiled program as users do. */
const compiled = { globalSetup: ['test/support/build-once.ts'], provide: { runner: 'child-process' } }

/** Drills run twice: with servers as processes, and with all of them in the process of the test. */
const DRILLS = 'test/scenarios/*.test.ts'

/** The helper container that cleans up after a killed run would have to be pulled; the tests clean up by themselves. */
const withoutReaper = { TESTCONTAINERS_RYUK_DISABLED: 'true' }

export default defineConfig({
  test: {
    // By default one core is left idle, which is half of a small machine.
    maxWorkers: '100%',
    projects: [
      tier('tidy', ['test/tidy.test.ts'], 60_000),
      tier('unit', ['test/unit/**/*.test.ts'], 120_000, together),
      tier('conformance', ['test/conformance/**/*.test.ts'], 120_000),
      tier('etcd', ['test/etcd/**/*.test.ts'], 120_000, { ...compiled, ...alone }),
      tier('golden', ['test/golden/**/*.test.ts'], 300_000, compiled),
      tier('api', ['test/api/**/*.test.ts'], 300_000, { ...compiled, ...alone }),
      tier('topology', ['test/topology/**/*.test.ts'], 900_000, { ...compiled, ...alone }),
      tier('simulation', ['test/simulation/**/*.test.ts'], 600_000, alone),
      tier('scenarios-in-process', [DRILLS, 'test/scenarios/in-process/*.test.ts'], 600_000, {
        provide: { runner: 'in-process' },
        ...alone,
      }),
      tier('scenarios', [DRILLS], 600_000, { ...compiled, ...alone }),
      tier('containers', ['test/containers/**/*.test.ts'], 900_000, { ...compiled, ...alone, env: withoutReaper }),
      tier('browser', ['test/browser/**/*.test.ts'], 600_000, { ...compiled, ...alone }),
    ],
  },
})

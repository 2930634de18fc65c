import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { defineConfig } from 'vitest/config'
import { ResultsReporter } from './scripts/support/results.js'
import { filesAt, LEVELS, type Level, type Tier, TIERS } from './scripts/support/tiers.js'
import { WORKERS } from './test/support/workers.js'

/** Maximum time of a poll. A fact that comes late on a slow machine still passes. */
const POLL_MS = 60_000

const { UNDERSTUDY_TEST_LEVEL: level = 'nightly', UNDERSTUDY_TEST_RESULTS: results } = process.env
const { UNDERSTUDY_RANDOM_PORTS: ports = '' } = process.env
const isLevel = (text: string): text is Level => Object.hasOwn(LEVELS, text)
if (!isLevel(level)) throw new Error(`UNDERSTUDY_TEST_LEVEL: unknown level "${level}"`)

const projectOf = (tier: Tier) => ({
  extends: true as const,
  test: {
    name: tier.name,
    include: [...filesAt(tier, level)],
    testTimeout: tier.timeoutMs,
    hookTimeout: tier.timeoutMs,
    isolate: !tier.isShared,
    globalSetup: tier.isCompiled ? ['test/support/build-once.ts'] : [],
    setupFiles: [
      'test/support/worker-ports.ts',
      ...(tier.lock === undefined ? [] : ['test/support/one-file-at-a-time.ts']),
    ],
    provide: { runner: tier.runner ?? 'child-process', level, lock: tier.lock },
  },
})

const tierOf = ({ project }: TestSpecification): Tier | undefined => TIERS.find(({ name }) => name === project.name)

/**
 * Runs files in the order of the tiers. Files with a lock are spread over the run, so that no worker waits for another
 * one.
 */
class TierSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = (file: TestSpecification) => TIERS.indexOf(tierOf(file) as Tier)
    const sorted = (await super.sort(files)).sort((one, other) => place(one) - place(other))
    const last = sorted.filter((file) => tierOf(file)?.isShared)
    const first = sorted.filter((file) => !last.includes(file))
    return [...new Set(TIERS.map(({ lock }) => lock))]
      .flatMap((lock) => {
        const group = first.filter((file) => tierOf(file)?.lock === lock)
        return group.map((file, index) => ({ file, share: index / group.length }))
      })
      .sort((one, other) => one.share - other.share)
      .map(({ file }) => file)
      .concat(last)
  }
}

export default defineConfig({
  test: {
    maxWorkers: WORKERS,
    expect: { poll: { timeout: POLL_MS } },
    // The helper container of Testcontainers would have to be pulled; the tests clean up by themselves.
    env: { TESTCONTAINERS_RYUK_DISABLED: 'true', UNDERSTUDY_TEST_PORTS: ports },
    sequence: { sequencer: TierSequencer },
    reporters: ['default', ...(results ? [new ResultsReporter(results)] : [])],
    projects: TIERS.map(projectOf),
  },
})

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
    setupFiles: ['test/support/worker-ports.ts', ...(tier.hasFixedPorts ? ['test/support/fixed-ports.ts'] : [])],
    provide: { runner: tier.runner ?? 'child-process', level },
  },
})

const tierOf = ({ project }: TestSpecification): Tier | undefined => TIERS.find(({ name }) => name === project.name)

/** Runs files in the order of the tiers, with the files that use fixed ports spread out: no worker waits for another one's. */
class TierSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = (file: TestSpecification) => TIERS.indexOf(tierOf(file) as Tier)
    const sorted = (await super.sort(files)).sort((one, other) => place(one) - place(other))
    const exclusive = sorted.filter((file) => tierOf(file)?.hasFixedPorts)
    const others = sorted.filter((file) => !exclusive.includes(file))
    const gap = Math.floor(others.filter((file) => !tierOf(file)?.isShared).length / exclusive.length)
    return others
      .flatMap((file, index) => (index % gap === 0 ? [...exclusive.splice(0, 1), file] : file))
      .concat(exclusive)
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

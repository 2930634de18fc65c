import { test } from 'vitest'
import { type Lab, startLab, type StartLabOptions, type TopologyClusters, type TopologyName } from './index.js'

/** Labs for tests in vitest: one for each file, in which every test begins with the state right after the start. */

/**
 * What each test is given.
 *
 * @example
 * import { type LabFixtures, labTest } from 'understudy-lab/vitest'
 *
 * const expectNew = async ({ lab }: Pick<LabFixtures<'dr'>, 'lab'>) => lab.healthy()
 * labTest('dr')('the lab is new', ({ lab }) => expectNew({ lab }))
 */
export interface LabFixtures<N extends TopologyName> {
  readonly lab: Lab<TopologyClusters[N]>
  /** Where the lab of a test comes from; ends with the file. */
  readonly labs: FreshLabs<N>
}

/**
 * `test` of vitest with the fixture `lab`, a lab of this topology: one for each file, in which every test begins with
 * the state right after the start. It starts when the first test asks for it. A test fails with the LabError of
 * `startLab` when it cannot be started.
 *
 * @example
 * import { expect } from 'vitest'
 * import { labTest } from 'understudy-lab/vitest'
 *
 * const test = labTest('pr-dr', { seed: 42 })
 *
 * test('a mount reaches C', async ({ lab }) => {
 *   await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
 *   await lab.converged()
 *   expect(await lab.C.client.read('sys/mounts')).toHaveProperty('kv/')
 * })
 */
export const labTest = <N extends TopologyName>(topology: N, options: StartLabOptions = {}) =>
  test.extend<LabFixtures<N>>({
    labs: [
      // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern what a fixture depends on
      async ({}, use) => {
        const labs = new FreshLabs(topology, options)
        await use(labs)
        await labs.close()
      },
      { scope: 'file' },
    ],
    lab: async ({ labs }, use) => use(await labs.next()),
  })

/**
 * A lab that is handed out again and again, as if it were new: for test runners other than vitest, and hooks of one's
 * own.
 *
 * @example
 * import { FreshLabs } from 'understudy-lab/vitest'
 *
 * const labs = new FreshLabs('pr', { seed: 42 })
 * for (let round = 0; round < 3; round += 1) {
 *   const lab = await labs.next() // LabError of `startLab`, or `timeout` of a reset
 *   await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
 * }
 * await labs.close()
 */
export class FreshLabs<N extends TopologyName> {
  readonly #start: () => Promise<Lab<TopologyClusters[N]>>
  #isUsed = false
  #lab: Lab<TopologyClusters[N]> | undefined

  constructor(topology: N, options: StartLabOptions) {
    this.#start = () => startLab(topology, options)
  }

  /** In the state right after the start: the first time it is started, then it is reset. */
  async next(): Promise<Lab<TopologyClusters[N]>> {
    this.#lab ??= await this.#start()
    if (this.#isUsed) await this.#lab.reset()
    this.#isUsed = true
    return this.#lab
  }

  async close(): Promise<void> {
    const lab = this.#lab
    this.#lab = undefined
    this.#isUsed = false
    await lab?.close()
  }
}

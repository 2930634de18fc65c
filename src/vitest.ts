/// <reference types="node" preserve="true" />
import { test } from 'vitest'
import {
  type ClustersOf,
  type Lab,
  LabError,
  startLab,
  type StartLabOptions,
  type Topology,
  type TopologyFile,
  type TopologyName,
} from './index.js'

/** Labs for vitest: one lab per file, reset to its initial state before each test. */

type AnyTopology = TopologyName | TopologyFile | Topology

/**
 * The fixtures of each test.
 *
 * @example
 * import { type LabFixtures, labTest } from 'understudy-lab/vitest'
 *
 * const expectNew = async ({ lab }: Pick<LabFixtures<'dr'>, 'lab'>) => lab.healthy()
 * labTest('dr')('the lab is new', ({ lab }) => expectNew({ lab }))
 */
export interface LabFixtures<T extends AnyTopology> {
  readonly lab: Lab<ClustersOf<T>>
  /** The source of the test's lab. Closed at the end of the file. */
  readonly labs: FreshLabs<T>
}

/**
 * `test` of vitest with the fixture `lab`, a lab of this topology (a name, a file or an object): one lab per file,
 * which starts with the first test that uses it and is reset to its initial state for each test. If the lab cannot
 * start, the test fails with the LabError of `startLab`.
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
export const labTest = <const T extends AnyTopology>(topology: T, options: StartLabOptions = {}) => {
  requireReal(options)
  return test.extend<LabFixtures<T>>({
    labs: [
      // biome-ignore lint/correctness/noEmptyPattern: vitest reads the dependencies of a fixture from the pattern
      async ({}, use) => {
        const labs = new FreshLabs(topology, options)
        await use(labs)
        await labs.close()
      },
      { scope: 'file' },
    ],
    lab: async ({ labs }, use) => use(await labs.next()),
  })
}

/** Throws for simulated labs, which cannot be reset. The compiler does not detect this in JavaScript. */
const requireReal = (options: { readonly simulated?: unknown } | null): void => {
  if (options?.simulated !== true) return
  throw new LabError(
    'usage',
    'labTest does not support simulated labs: start one in each test with startLab(topology, { simulated: true, seed })',
  )
}

/**
 * A reusable lab that is in its initial state each time, for other test runners and custom hooks.
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
export class FreshLabs<const T extends AnyTopology> {
  readonly #start: () => Promise<Lab<ClustersOf<T>>>
  #lab: Promise<Lab<ClustersOf<T>>> | undefined

  constructor(topology: T, options: StartLabOptions) {
    requireReal(options)
    // The types of this class already check the topology, and `startLab` validates its value.
    this.#start = async () => (await startLab(topology as Topology, options)) as Lab<ClustersOf<T>>
  }

  /** Returns the lab in its initial state. The first call starts the lab, and later calls reset it. */
  async next(): Promise<Lab<ClustersOf<T>>> {
    const used = this.#lab
    this.#lab ??= this.#startOnce()
    const lab = await this.#lab
    if (used) await lab.reset()
    return lab
  }

  /** Closes the lab, even if it is still starting. */
  async close(): Promise<void> {
    const lab = this.#lab
    this.#lab = undefined
    await (await lab?.catch(() => undefined))?.close()
  }

  /** Starts the lab. After a failure, forgets it, so that the next call starts a new lab. */
  async #startOnce(): Promise<Lab<ClustersOf<T>>> {
    try {
      return await this.#start()
    } catch (error) {
      this.#lab = undefined
      throw error
    }
  }
}

import type { Kind } from '../../src/lab/model/kinds.js'
import type { Cluster } from './clusters.js'
import { type Repetition, repeat } from './repeat.js'

export interface StatusWatch extends Repetition {
  /** How often each state was seen, in the order of first sight. */
  readonly states: ReadonlyMap<string, number>
  readonly failures: readonly string[]
}

/** Reads the status of one kind over and over, so that short states are seen and a missing answer is noticed. */
export const watchStatus = (cluster: Cluster, kind: Kind): StatusWatch => {
  const states = new Map<string, number>()
  const failures: string[] = []
  const repetition = repeat(async () => {
    try {
      const { state, mode } = await cluster.status(kind)
      const key = String(state ?? mode)
      states.set(key, (states.get(key) ?? 0) + 1)
    } catch (error) {
      failures.push(String(error))
    }
  })
  return Object.assign(repetition, { states, failures })
}

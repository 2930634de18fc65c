import type { Random } from '../../base/random.js'
import type { MemorySharedLog } from '../../storage/shared-log/memory-shared-log.js'
import type { Server } from '../server.js'
import type { Host } from './host.js'
import type { MortalClock } from './simulated-clock.js'

/** One lifetime of a server. */
export interface Life extends Host {
  isAlive: boolean
  readonly clock: MortalClock
  readonly random: Random
  readonly died: Promise<undefined>
  readonly die: () => void
  server: Server | undefined
  shared: MemorySharedLog | undefined
}

export const beginLife = (name: string, clock: MortalClock, random: Random): Life => {
  let die: () => void = () => undefined
  const died = new Promise<undefined>((resolve) => {
    die = () => resolve(undefined)
  })
  return {
    name,
    isAlive: true,
    get frozenMs() {
      return clock.frozenMs
    },
    clock,
    random,
    died,
    die,
    server: undefined,
    shared: undefined,
  }
}

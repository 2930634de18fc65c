import type { Clock } from '../../base/clock.js'
import { LogicalError } from '../../logical/errors.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import { MemoryDirectory, openMemoryGenerations } from '../../storage/engine/memory-generations.js'
import { failedDisk } from '../../storage/engine/level-failure.js'
import { watchSource } from '../../storage/engine/watched-source.js'
import type { Chance } from './chance.js'
import type { History } from './history.js'
import type { Host } from './host.js'

interface DiskOptions {
  readonly chance: Chance
  readonly history: History
  /** How long one step takes at most, in milliseconds. */
  readonly delayMsMax: number
}

/** A bit that is not as it was written. */
interface TurnedBit {
  /** Turns it back, unless something else was stored there since. */
  readonly back: () => void
}

/**
 * The disk of one cluster. Every step takes its time before it has happened and until it is known that it has; whoever dies
 * in between finds out at the next start. A loss of power takes the last of what was not made durable, or all of it.
 */
export class Disk {
  readonly #options: DiskOptions
  #directory = new MemoryDirectory()
  /** So many of the next batches are written, and answered by an error; and so many have been. */
  failuresLeft = 0
  failures = 0

  constructor(options: DiskOptions) {
    this.#options = options
  }

  /** For one life of a server. Its clock is what it waits with: the steps of a dead one never come to their end. */
  open(host: Host, clock: Clock): EngineSource {
    const { history, chance } = this.#options
    this.failuresLeft = 0
    return watchSource(openMemoryGenerations(this.#directory), {
      beforeRead: () => {
        if (!host.isAlive) throw new LogicalError('unavailable', 'the process is dead')
      },
      beforeStep: (step) => {
        if (!host.isAlive) throw new LogicalError('unavailable', 'the process is dead')
        history.add(host.name, `disk: ${step}`)
      },
      delay: async (step, side) => {
        await clock.sleep(chance.next() * this.#options.delayMsMax)
        if (step === 'batch' && side === 'after' && this.failuresLeft > 0) {
          this.failuresLeft--
          this.failures++
          history.add(host.name, 'disk: the batch is written, and answered by an error')
          throw failedDisk(new Error('the answer of the disk is an error'))
        }
      },
    })
  }

  /** Its process ends at any moment: the system has what was written. */
  release(): void {
    this.#directory.disk.release()
  }

  losePower(): void {
    const { disk } = this.#directory
    const { chance, history } = this.#options
    const kept = disk.unsynced > 0 ? chance.below(disk.unsynced + 1) : 0
    if (disk.unsynced > 0) history.add('', `disk: ${kept} of ${disk.unsynced} batches are kept that were not synced`)
    this.#directory.crash(kept)
  }

  lose(): void {
    this.#directory = new MemoryDirectory()
  }

  /** Turns over a bit of a value whose key begins so, while no server runs on it. Undefined where there is none. */
  turnBit(prefix: string, chance: Chance): TurnedBit | undefined {
    const { map } = this.#directory.disk
    const keys = map.frozen().flatMap((leaf) => leaf.keys.filter((key) => key.startsWith(prefix)))
    const key = keys.length > 0 ? chance.pick(keys) : ''
    const value = map.get(key)
    if (!value || value.length === 0) return undefined
    const bit = chance.below(value.length * 8)
    const turned = Buffer.from(value)
    turned[bit >> 3] = (turned[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    map.set(key, turned)
    this.#options.history.add('', `a bit of ${JSON.stringify(key)} is turned over`)
    return {
      back: () => {
        if (map.get(key)?.equals(turned)) map.set(key, value)
      },
    }
  }
}

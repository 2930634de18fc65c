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
  /** Maximum latency before and after each step, in ms. */
  readonly delayMsMax: number
}

/**
 * The disk of one node. Every step is delayed before it runs, and again before its completion is reported. If a process
 * dies in between, the process learns the outcome at its next start. A power failure discards some or all of the writes
 * that were not synced.
 */
export class Disk {
  readonly #options: DiskOptions
  #directory = new MemoryDirectory()
  /** Number of next batches that the disk writes but reports as failed, and number of batches reported so far. */
  failuresLeft = 0
  failures = 0

  constructor(options: DiskOptions) {
    this.#options = options
  }

  /**
   * Opens the disk for a server process. `clock` is the clock of this process, so that the steps of a dead process
   * never complete.
   */
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
          history.add(host.name, 'disk: the batch is written, but the disk reports an error')
          throw failedDisk(new Error('the disk reported an error'))
        }
      },
    })
  }

  /** Releases the disk after the process died. Written data remains. */
  release(): void {
    this.#directory.disk.release()
  }

  /** Simulates a power failure: a random number of the batches that were not synced are lost. */
  losePower(): void {
    const { disk } = this.#directory
    const { chance, history } = this.#options
    const kept = disk.unsynced > 0 ? chance.below(disk.unsynced + 1) : 0
    if (disk.unsynced > 0) history.add('', `disk: keeps ${kept} of ${disk.unsynced} batches that were not synced`)
    this.#directory.crash(kept)
  }

  /** Replaces the disk by an empty disk. */
  lose(): void {
    this.#directory = new MemoryDirectory()
  }

  /** Copies the data while no server runs. The returned function replaces the data by the copy. */
  copy(): () => void {
    const { generation, disk } = this.#directory
    const leaves = disk.map.frozen()
    return () => {
      this.#directory = new MemoryDirectory()
      this.#directory.generation = generation
      for (const { keys, values } of leaves)
        for (const [n, value] of values.entries()) this.#directory.disk.map.set(keys[n] ?? '', value)
    }
  }

  /**
   * Flips a random bit of a stored value whose key has this prefix, while no server runs. Returns undefined if no value
   * has this prefix. `back` restores the bit unless the value was overwritten in the meantime.
   */
  flipBit(prefix: string, chance: Chance): { readonly back: () => void } | undefined {
    const { map } = this.#directory.disk
    const keys = map.frozen().flatMap((leaf) => leaf.keys.filter((key) => key.startsWith(prefix)))
    const key = keys.length > 0 ? chance.pick(keys) : ''
    const value = map.get(key)
    if (!value || value.length === 0) return undefined
    const bit = chance.below(value.length * 8)
    const flipped = Buffer.from(value)
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    map.set(key, flipped)
    this.#options.history.add('', `disk: a bit of ${JSON.stringify(key)} is flipped`)
    return {
      back: () => {
        if (map.get(key)?.equals(flipped)) map.set(key, value)
      },
    }
  }
}

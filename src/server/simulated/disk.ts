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
  /** Maximum duration of one step in milliseconds. */
  readonly delayMsMax: number
}

/**
 * The disk of one cluster. Every step takes time before it is executed, and again until its completion is reported. A
 * process that dies in between learns the outcome at its next start. A loss of power discards some or all of the writes that
 * were not durable.
 */
export class Disk {
  readonly #options: DiskOptions
  #directory = new MemoryDirectory()
  /** `failuresLeft` of the next batches report an error although they are written. `failures` batches have done so. */
  failuresLeft = 0
  failures = 0

  constructor(options: DiskOptions) {
    this.#options = options
  }

  /**
   * Opens the disk for one lifetime of a server. `clock` is the clock of the process: the steps of a dead process never
   * complete.
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
          history.add(host.name, 'disk: the batch is written, and answered by an error')
          throw failedDisk(new Error('the disk reported an error'))
        }
      },
    })
  }

  /** Releases the disk after the process died: written data remains. */
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

  /**
   * Flips a bit of a value whose key has this prefix, while no server is running. Returns undefined if there is none.
   * `back` restores the bit, unless the value was overwritten since.
   */
  turnBit(prefix: string, chance: Chance): { readonly back: () => void } | undefined {
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

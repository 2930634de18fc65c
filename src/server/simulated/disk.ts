import type { Clock } from '../../base/clock.js'
import { LogicalError } from '../../logical/errors.js'
import type { EngineSource } from '../../storage/engine/engine-source.js'
import { MemoryDirectory, openMemoryGenerations } from '../../storage/engine/memory-generations.js'
import { failedDisk } from '../../storage/engine/level-failure.js'
import { watchSource } from '../../storage/engine/watched-source.js'
import type { Chance } from './chance.js'
import type { History } from './history.js'
import type { Host } from './network.js'

interface DiskOptions {
  readonly chance: Chance
  readonly history: History
  /** How long one step takes at most, in milliseconds. */
  readonly delayMsMax: number
}

/**
 * The disk of one cluster. Every step takes its time before it has happened and until it is known that it has; whoever dies
 * in between finds out at the next start. A loss of power takes what was not made durable.
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

  losePower(): void {
    this.#directory.crash()
  }

  lose(): void {
    this.#directory = new MemoryDirectory()
  }
}

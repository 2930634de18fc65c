import type { Random } from '../../base/random.js'
import type { MemorySharedLog } from '../../storage/shared-log/memory-shared-log.js'
import type { Server } from '../server.js'
import type { Host } from './host.js'
import type { MortalClock } from './simulated-clock.js'
import type { Clock } from '../../base/clock.js'
import { MemoryLink } from '../../storage/shared-log/memory-link.js'
import type { Chance } from './chance.js'
import { InlinePasswords } from '../../auth/userpass/inline-passwords.js'
import { simulatedCertificateKeys, simulatedJwtKeys, simulatedPrivateKeys } from '../../crypto/simulated-keys.js'
import type { SimulationOverrides } from '../parts/parts.js'

/** A server process, from its start until its exit. */
export interface Life extends Host {
  isAlive: boolean
  readonly clock: MortalClock
  readonly random: Random
  readonly die: () => void
  /**
   * Resolves to the result of `work`, or to undefined if the process dies first. `Promise.race` with a promise of the
   * death would keep all results in memory until then.
   */
  untilDeath<T>(work: Promise<T>): Promise<T | undefined>
  server: Server | undefined
  shared: MemorySharedLog | undefined
}

export const beginLife = (name: string, clock: MortalClock, random: Random): Life => {
  const waiting = new Set<() => void>()
  let isDead = false
  let reportDeath: () => void = () => undefined
  const died = new Promise<void>((resolve) => {
    reportDeath = resolve
  })
  void died.then(() => {
    for (const stopWaiting of waiting) stopWaiting()
    waiting.clear()
  })
  return {
    name,
    isAlive: true,
    get frozenMs() {
      return clock.frozenMs
    },
    clock,
    random,
    die: () => {
      isDead = true
      reportDeath()
    },
    untilDeath: <T>(work: Promise<T>) =>
      new Promise<T | undefined>((resolve, reject) => {
        const stopWaiting = () => resolve(undefined)
        const settle = <R>(report: (result: R) => void) => {
          return (result: R) => {
            waiting.delete(stopWaiting)
            report(result)
          }
        }
        work.then(settle(resolve), settle(reject))
        if (isDead) void died.then(stopWaiting)
        else waiting.add(stopWaiting)
      }),
    server: undefined,
    shared: undefined,
  }
}

interface LogLinkOptions {
  readonly clock: Clock
  readonly chance: Chance
  /** Maximum latency of each request, response and notification, in ms. */
  readonly delayMsMax: number
}

/** The link between a node and its shared log, with random latency. */
export class LogLink extends MemoryLink {
  readonly #options: LogLinkOptions

  constructor(options: LogLinkOptions) {
    super()
    this.#options = options
  }

  override async ask<T>(run: () => T): Promise<T> {
    await this.#pass()
    const answer = await super.ask(run)
    await this.#pass()
    return answer
  }

  override get listening(): Promise<void> {
    return super.listening.then(() => this.#pass())
  }

  #pass(): Promise<void> {
    const { clock, chance, delayMsMax } = this.#options
    return clock.sleep(chance.next() * delayMsMax)
  }
}

/** Returns overrides that generate keys and hash passwords without threads and from the seed. */
export const simulatedSecrets = (random: Random): Omit<SimulationOverrides, 'transport' | 'fetchWrapped'> => ({
  certificateKeys: simulatedCertificateKeys(random),
  jwtKeys: simulatedJwtKeys(random),
  passwords: new InlinePasswords(),
  makePrivateKey: simulatedPrivateKeys(random),
})

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

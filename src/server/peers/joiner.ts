import { Backoff } from '../../base/backoff.js'
import type { SealJoin } from '../../core/seal/seal-join.js'
import { LogicalError } from '../../logical/errors.js'
import type { SealConfig } from '../../seal/config.js'
import { askLeader, JoinRefused, type LeaderAddress } from './leader-api.js'
import { clusterHost, peerAddressOf } from './peer-address.js'
import type { PeersHost, PeersOptions } from './peers-options.js'
import { answerTo, openWelcome, type Welcome } from './proof.js'

interface JoinerOptions extends PeersOptions {
  readonly host: () => PeersHost
  /** The cluster has taken this server in. Resolves when that is durable; what follows goes on by itself. */
  readonly enter: (welcome: Welcome) => Promise<void>
  readonly signal: AbortSignal
}

const RETRY = { initialMs: 500, maxMs: 4000 }
/** How long the leader may take to become one of several, and to have a place for another member. */
const ANSWER_MS = 60_000

/** A server without data that is to become a node of a cluster: it knows the leader, and waits for what opens the seal. */
export class Joiner {
  readonly #options: JoinerOptions
  #pending: SealJoin | undefined
  #retrying = false

  constructor(options: JoinerOptions) {
    this.#options = options
  }

  /** Undefined while there is no leader whose shares are wanted. */
  get pending(): SealJoin | undefined {
    return this.#pending
  }

  /** The cluster is here: nothing is pending any more. */
  arrived(): void {
    this.#pending = undefined
  }

  /** Rejects with a LogicalError when the leader cannot be asked, or refuses. */
  async join(leader: LeaderAddress): Promise<void> {
    if (this.#pending) return
    const { sealConfig } = await this.#askChallenge(leader)
    const { seal } = this.#options.host().requireRuntime()
    this.#options.log.info('this server is to join a cluster', { leader: leader.address })
    if (seal.keys.isAutoUnseal) {
      if (!(await this.#prove(leader, undefined))) {
        throw new LogicalError(
          'internal',
          `the seal of this server does not open what that of ${leader.address} has closed`,
        )
      }
      return
    }
    this.#pending = { config: sealConfig, open: (shareKey) => this.#prove(leader, shareKey) }
  }

  /** The same until one of them lets this server in, or refuses for good; in the background. */
  keepJoining(leaders: readonly (() => LeaderAddress)[]): void {
    if (this.#retrying) return
    this.#retrying = true
    void this.#keepJoining(leaders).finally(() => {
      this.#retrying = false
    })
  }

  async #keepJoining(leaders: readonly (() => LeaderAddress)[]): Promise<void> {
    const { clock, random, log, signal, host } = this.#options
    const backoff = new Backoff(RETRY, random)
    for (;;) {
      for (const readLeader of leaders) {
        // It was initialised meanwhile, or it has joined.
        if (signal.aborted || this.#pending || host().requireRuntime().seal.isInitialized) return
        try {
          return await this.join(readLeader())
        } catch (error) {
          log.info('this server could not join yet', { reason: error instanceof Error ? error.message : String(error) })
        }
      }
      try {
        await clock.sleep(backoff.next(), signal)
      } catch {
        return
      }
    }
  }

  async #askChallenge(leader: LeaderAddress): Promise<{ sealConfig: SealConfig; challenge: Buffer }> {
    const { config } = this.#options
    const data = await askLeader(leader, 'challenge', { server_id: config.storage.nodeId }, this.#options)
    const { type, secret_shares: shares, secret_threshold: threshold } = data.seal_config as Record<string, unknown>
    const own = this.#options.host().requireRuntime().seal.keys.type
    if (type !== own)
      throw new LogicalError('internal', `the seal of ${leader.address} is "${type}", and here it is "${own}"`)
    return {
      sealConfig: { shares: Number(shares), threshold: Number(threshold) },
      challenge: Buffer.from(String(data.challenge), 'base64'),
    }
  }

  /** False when the share key is not the cluster's. */
  async #prove(leader: LeaderAddress, shareKey: Buffer | undefined): Promise<boolean> {
    const { clock, random, signal, host, enter } = this.#options
    const endMs = clock.monotonic() + ANSWER_MS
    const backoff = new Backoff(RETRY, random)
    for (;;) {
      try {
        const { challenge } = await this.#askChallenge(leader)
        const secret = await host().requireRuntime().seal.keys.openChallenge(challenge, shareKey)
        if (!secret) return false
        await enter(await this.#answer(leader, secret))
        return true
      } catch (error) {
        if (error instanceof JoinRefused || clock.monotonic() >= endMs) throw error
      }
      await clock.sleep(backoff.next(), signal)
    }
  }

  async #answer(leader: LeaderAddress, secret: Buffer): Promise<Welcome> {
    const { config } = this.#options
    const serverId = config.storage.nodeId
    const body = {
      server_id: serverId,
      answer: answerTo(secret, serverId),
      cluster_addr: clusterHost(config),
      peer_addr: peerAddressOf(config),
    }
    const { welcome } = await askLeader(leader, 'answer', body, this.#options)
    const opened = openWelcome(secret, String(welcome))
    if (!opened) throw new LogicalError('internal', `what ${leader.address} has answered cannot be read`)
    return opened
  }
}

import { messageOf } from '../../base/printable.js'
import { Backoff } from '../../base/backoff.js'
import { isJsonObject } from '../../base/json.js'
import type { SealJoin } from '../../core/seal/seal-records.js'
import { LogicalError } from '../../logical/errors.js'
import type { JsonObject } from '../../logical/json.js'
import type { SealConfig } from '../../seal/config.js'
import { askLeader, atEachAddress, hasCluster, JoinRefused, type LeaderAddress } from './leader-api.js'
import { clusterHost, findEtcd, peerAddressOf } from './etcd-process.js'
import type { PeersContext } from './peers-context.js'
import { answerTo, openJoinResponse, type JoinResponse } from './proof.js'

/**
 * Called when the cluster has admitted this server. Resolves when the membership is durable. The join then continues in the
 * background.
 */
type Enter = (welcome: JoinResponse) => Promise<void>

interface Pending extends SealJoin {
  readonly leader: LeaderAddress
  shares: 'wanted' | 'needless'
}

const RETRY = { initialMs: 500, maxMs: 4000 }
/** Timeout in ms for the leader to migrate to multiple nodes and to accept another member. */
const ANSWER_MS = 60_000

/** A server without data that is joining a cluster: it knows the leader, and waits for the shares or the seal. */
export class JoinClient {
  readonly #context: PeersContext
  readonly #enter: Enter
  #pending: Pending | undefined
  #proving: Promise<void> | undefined
  /** Leaders tried in the background until one of them admits this server. */
  #leaders: readonly (() => LeaderAddress)[] = []
  #retrying = false

  constructor(context: PeersContext, enter: Enter) {
    this.#context = context
    this.#enter = enter
  }

  /** Undefined while no leader is waiting for shares. */
  get pending(): Pending | undefined {
    return this.#pending
  }

  /** Ends the join once the cluster's data has arrived. */
  arrived(): void {
    this.#pending = undefined
  }

  /**
   * Joins this leader. Replaces another leader if no shares were submitted to it yet. Rejects with a LogicalError if the
   * leader is unreachable or refuses.
   */
  async join(leader: LeaderAddress): Promise<void> {
    const { config, log } = this.#context.options
    findEtcd(config.own.etcdPath)
    if (this.#isFor(leader)) return this.#proving
    const { sealConfig } = await this.#askChallenge(leader)
    if (this.#isFor(leader)) return this.#proving
    const { seal } = this.#context.runtime
    if (seal.keys.config) throw hasCluster()
    if (this.#pending) seal.resetUnseal()
    log.info('joining a cluster', { leader: leader.address })
    const pending: Pending = {
      leader,
      config: sealConfig,
      shares: 'wanted',
      open: (shareKey: Buffer) => this.#prove(pending, shareKey),
    }
    this.#pending = pending
    if (!seal.keys.isAutoUnseal) return
    this.#proving = seal
      .joinOther(() => this.#proveSeal(pending))
      .catch((error: unknown) => {
        this.#pending = undefined
        throw error
      })
      .finally(() => {
        this.#proving = undefined
      })
    return this.#proving
  }

  /**
   * Returns true if another join request to this leader would change nothing. Either a join to this leader is pending, or a
   * leader has already admitted this server or is checking its proof.
   */
  #isFor({ address }: LeaderAddress): boolean {
    return (
      this.#pending?.leader.address === address || this.#pending?.shares === 'needless' || this.#proving !== undefined
    )
  }

  async #proveSeal(pending: Pending): Promise<void> {
    if (await this.#prove(pending, undefined)) return
    const { address } = pending.leader
    throw new LogicalError(
      'internal',
      `the seal of this server cannot decrypt the challenge of ${address}: both servers must use the same seal key`,
    )
  }

  /** Tries the leaders in the background until one admits this server or refuses permanently. */
  keepJoining(leaders: readonly (() => LeaderAddress)[]): void {
    this.#leaders = leaders
    if (this.#retrying) return
    this.#retrying = true
    void this.#keepJoining().finally(() => {
      this.#retrying = false
    })
  }

  async #keepJoining(): Promise<void> {
    const { signal, options } = this.#context
    const { clock, random, log, network } = options
    const backoff = new Backoff(RETRY, random)
    for (;;) {
      for (const readLeader of this.#leaders) {
        try {
          // Stops if this server was initialized or has joined in the meantime. During a restart, the runtime throws instead.
          if (signal.aborted || this.#pending || this.#context.runtime.seal.isInitialized) return
          return await this.#joinAtEach(await atEachAddress(readLeader(), network))
        } catch (error) {
          log.info('the join failed and will be retried', { reason: messageOf(error) })
        }
      }
      try {
        await clock.sleep(backoff.next(), signal)
      } catch {
        return
      }
    }
  }

  /** Rejects with the error of the last leader. */
  async #joinAtEach(leaders: readonly LeaderAddress[]): Promise<void> {
    for (const [at, leader] of leaders.entries()) {
      try {
        return await this.join(leader)
      } catch (error) {
        if (at === leaders.length - 1) throw error
        const { log } = this.#context.options
        log.info('the join failed at one of the addresses', { reason: messageOf(error) })
      }
    }
  }

  async #askChallenge(leader: LeaderAddress): Promise<{ sealConfig: SealConfig; challenge: Buffer }> {
    const data = await this.#ask(leader, 'challenge', {})
    const { challenge, seal_config: sealConfig } = data
    if (typeof challenge !== 'string' || !isJsonObject(sealConfig)) throw unreadable(leader)
    const { type, secret_shares: shares, secret_threshold: threshold } = sealConfig
    const own = this.#context.runtime.seal.keys.type
    if (type !== own)
      throw new LogicalError(
        'internal',
        `the seal types differ: ${leader.address} has "${type}", and this server has "${own}"`,
      )
    if (!isCount(shares) || !isCount(threshold) || threshold > shares) throw unreadable(leader)
    return { sealConfig: { shares, threshold }, challenge: Buffer.from(challenge, 'base64') }
  }

  /** Returns false if the share key does not belong to the cluster. */
  async #prove(pending: Pending, shareKey: Buffer | undefined): Promise<boolean> {
    const welcome = await this.#askToJoin(pending.leader, shareKey)
    if (!welcome) return false
    try {
      await this.#enter(welcome)
    } catch (cause) {
      throw new LogicalError('internal', `the data for this node could not be stored: ${messageOf(cause)}`, { cause })
    }
    pending.shares = 'needless'
    // Another leader may have been configured in the meantime.
    this.#pending = pending
    return true
  }

  async #askToJoin(leader: LeaderAddress, shareKey: Buffer | undefined): Promise<JoinResponse | undefined> {
    const { signal, options } = this.#context
    const { clock, random } = options
    const endMs = clock.monotonic() + ANSWER_MS
    const backoff = new Backoff(RETRY, random)
    for (;;) {
      try {
        const { challenge } = await this.#askChallenge(leader)
        const secret = await this.#context.runtime.seal.keys.openChallenge(challenge, shareKey)
        return secret && (await this.#answer(leader, secret))
      } catch (error) {
        if (error instanceof JoinRefused || clock.monotonic() >= endMs) throw error
      }
      await clock.sleep(backoff.next(), signal)
    }
  }

  async #answer(leader: LeaderAddress, secret: Buffer): Promise<JoinResponse> {
    const { config } = this.#context.options
    const { nodeId } = config.storage
    const [peerAddress, clusterAddress] = [peerAddressOf(config), clusterHost(config)]
    const answer = answerTo(secret, { nodeId, peerAddress, clusterAddress })
    const body = { answer, cluster_addr: clusterAddress, peer_addr: peerAddress }
    const { welcome } = await this.#ask(leader, 'answer', body)
    const opened = openJoinResponse(secret, String(welcome))
    if (!opened) throw new LogicalError('internal', `the join response of ${leader.address} cannot be decrypted`)
    return opened
  }

  #ask(leader: LeaderAddress, what: 'challenge' | 'answer', body: JsonObject): Promise<JsonObject> {
    const { signal, options } = this.#context
    return askLeader(leader, what, { server_id: options.config.storage.nodeId, ...body }, { ...options, signal })
  }
}

const isCount = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 255

const unreadable = ({ address }: LeaderAddress): LogicalError =>
  new LogicalError(
    'internal',
    `the response of ${address} is not a join challenge: check that this is the API address of a node`,
  )

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
 * Called when the cluster has admitted this server. Resolves when this server has stored its membership durably. The
 * join then continues in the background.
 */
type Enter = (welcome: JoinResponse) => Promise<void>

interface Pending extends SealJoin {
  readonly leader: LeaderAddress
  shares: 'wanted' | 'needless'
}

const RETRY = { initialMs: 500, maxMs: 4000 }
/** Timeout in ms until the leader admits this server. The leader may migrate its storage to several nodes first. */
const ADMISSION_MS = 60_000

/**
 * Joins a server without data to the cluster of a leader. The leader requires a proof that the server has the unseal
 * key shares or the same seal.
 */
export class JoinClient {
  readonly #context: PeersContext
  readonly #enter: Enter
  #pending: Pending | undefined
  #proving: Promise<void> | undefined
  /** The leaders to which `keepJoining` sends join requests, in this order. */
  #leaders: readonly (() => LeaderAddress)[] = []
  #retrying = false

  constructor(context: PeersContext, enter: Enter) {
    this.#context = context
    this.#enter = enter
  }

  /** The join that waits for its shares or for the seal; undefined if there is none. */
  get pending(): Pending | undefined {
    return this.#pending
  }

  /** Ends the pending join. The caller calls it when the cluster's data has arrived. */
  arrived(): void {
    this.#pending = undefined
  }

  /**
   * Joins the cluster of this leader. A pending join to another leader is replaced unless that leader has admitted this
   * server or is checking its proof. Rejects with a LogicalError if the leader is unreachable or rejects the request.
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
   * Returns true if a new join request to this leader would change nothing. Either a join to this leader is pending, or
   * a leader has admitted this server, or a leader is checking the proof of this server.
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

  /** Sends join requests to the leaders in the background. Stops when one leader admits this server. */
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
          // Stops if this server was initialized or has joined in the meantime. During a restart, `runtime` throws, and
          // the loop retries.
          if (signal.aborted || this.#pending || this.#context.runtime.seal.isInitialized) return
          return await this.#joinAtEach(await atEachAddress(readLeader(), network))
        } catch (error) {
          log.info('cannot join the cluster, retrying', { reason: messageOf(error) })
        }
      }
      try {
        await clock.sleep(backoff.next(), signal)
      } catch {
        return
      }
    }
  }

  /** Joins the first of these leaders that accepts. Rejects with the error of the last leader if all fail. */
  async #joinAtEach(leaders: readonly LeaderAddress[]): Promise<void> {
    for (const [at, leader] of leaders.entries()) {
      try {
        return await this.join(leader)
      } catch (error) {
        if (at === leaders.length - 1) throw error
        const { log } = this.#context.options
        log.info('cannot join at this address, trying the next one', { reason: messageOf(error) })
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

  /**
   * Proves to the leader that this server has the key, and stores the join response. Returns false if the share key is
   * not that of the cluster. Rejects with LogicalError if the response cannot be decrypted or stored.
   */
  async #prove(pending: Pending, shareKey: Buffer | undefined): Promise<boolean> {
    const welcome = await this.#askToJoin(pending.leader, shareKey)
    if (!welcome) return false
    try {
      await this.#enter(welcome)
    } catch (cause) {
      throw new LogicalError('internal', `cannot store the data of the join response: ${messageOf(cause)}`, { cause })
    }
    pending.shares = 'needless'
    // Another join request may have replaced `#pending` in the meantime.
    this.#pending = pending
    return true
  }

  async #askToJoin(leader: LeaderAddress, shareKey: Buffer | undefined): Promise<JoinResponse | undefined> {
    const { signal, options } = this.#context
    const { clock, random } = options
    const endMs = clock.monotonic() + ADMISSION_MS
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
    if (!opened) throw new LogicalError('internal', `cannot decrypt the join response of ${leader.address}`)
    return opened
  }

  #ask(leader: LeaderAddress, step: 'challenge' | 'answer', body: JsonObject): Promise<JsonObject> {
    const { signal, options } = this.#context
    return askLeader(leader, step, { server_id: options.config.storage.nodeId, ...body }, { ...options, signal })
  }
}

const isCount = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 255

const unreadable = ({ address }: LeaderAddress): LogicalError =>
  new LogicalError(
    'internal',
    `the response of ${address} is not a join challenge: check that this is the API address of a node`,
  )

import type { Clock } from '../../base/clock.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import type { LogState } from '../../logical/log-state.js'
import type { Request } from '../../logical/request.js'
import type { TokenStore } from '../tokens/tokens.js'
import { ForActiveNode } from './for-active-node.js'
import { isSameSecret } from '../../crypto/constant-time.js'
import { hmacSha256Hex } from '../../crypto/digest.js'

interface ConsistencyOptions {
  readonly clock: Clock
  /**
   * Returns the key that authenticates log states. All clusters of a replication set derive the same key from the
   * shared keyring, so each of them accepts the states of the others.
   */
  readonly key: () => Buffer
  readonly own: () => LogState
  /**
   * Returns the primary's cluster ID and the last index of its log applied here; undefined if this cluster has no
   * primary.
   */
  readonly upstream: () => { readonly clusterId: string; readonly appliedIndex: number } | undefined
  readonly mayForward: boolean
  /** True on a performance standby, whose active node may have newer data. */
  readonly isStandby: boolean
  /** The timeout in ms for `await-state`, and for a token on a performance standby. */
  readonly awaitMs: number
  /**
   * Resolves to true once all entries that were in the log at the call are applied, or to false on timeout. Set on a
   * performance standby.
   */
  readonly reachEnd?: ((waitMs: number) => Promise<boolean>) | undefined
}

const POLL_MS = 10

/**
 * Read-your-writes across clusters: the response to a write contains the log state. If a later request contains this
 * state, the cluster delays or rejects the request until it has reached the state.
 */
export class Consistency {
  readonly #options: ConsistencyOptions
  /** The last header. Writes in the same commit have the same state, and so the same header. */
  #printed = { text: '', header: '' }

  constructor(options: ConsistencyOptions) {
    this.#options = options
  }

  /** Returns the header for a state of this cluster's log, or of the cluster that committed a forwarded write. */
  print(state: LogState = this.#options.own()): string {
    const text = `v1:${state.clusterId}:${state.localIndex}:${state.replicatedIndex}`
    if (this.#printed.text !== text) {
      this.#printed = { text, header: Buffer.from(`${text}:${this.#mac(text)}`).toString('base64') }
    }
    return this.#printed.header
  }

  /**
   * Rejects with LogicalError 412 if this node has not reached the states in the header `X-Vault-Index`. Waits first if
   * `X-Vault-Inconsistent` is `await-state`. On a performance standby, rejects with `ForActiveNode` if the active node
   * must decide.
   */
  async require(request: Request): Promise<void> {
    const header = request.headers['x-vault-index']
    if (header === undefined) return
    const states = [header]
      .flat()
      .flatMap((text) => text.split(','))
      .flatMap((text) => this.#parse(text.trim()) ?? [])
    if (states.length === 0) return
    const mode = String(request.headers['x-vault-inconsistent'] ?? '')
    if (mode === 'forward-active-node' && !this.#options.mayForward) {
      throw invalid('forwarding to the active node is disabled by the configuration')
    }
    const isReached = () => states.every((state) => this.#isReached(state))
    if (isReached()) return
    if (this.#options.isStandby && (mode === 'forward-active-node' || states.some((state) => !this.#isOwn(state)))) {
      throw new ForActiveNode()
    }
    const isUnreachable = states.some((state) => !this.#isReached(state) && !this.#canReach(state))
    if (mode === 'await-state' && !isUnreachable && (await this.#waitFor(isReached)) === 'reached') return
    throw notReached()
  }

  /**
   * On a performance standby, waits until this node has applied the log entry that created an unknown token. Returns
   * without the token if the log ends before that entry: another log then contains the token. Rejects with LogicalError
   * 412 on timeout.
   */
  async requireToken(presented: string, tokens: Pick<TokenStore, 'awaitedIndex'>): Promise<void> {
    const isReached = () => this.#options.own().localIndex >= tokens.awaitedIndex(presented)
    if (!isReached() && (await this.#waitFor(isReached)) === 'late') throw notReached()
  }

  /**
   * Waits for a state. Resolves to 'never' if all entries of the log are applied and the state is still not reached.
   */
  async #waitFor(isReached: () => boolean): Promise<'reached' | 'never' | 'late'> {
    const { clock, awaitMs, reachEnd } = this.#options
    const deadline = clock.monotonic() + awaitMs
    let isAtEnd = false
    void reachEnd?.(awaitMs).then((isReachedInTime) => {
      isAtEnd = isReachedInTime
    })
    while (clock.monotonic() < deadline) {
      await clock.sleep(POLL_MS)
      const hasAll = isAtEnd
      if (isReached()) return 'reached'
      if (hasAll) return 'never'
    }
    return 'late'
  }

  /**
   * Returns whether this node can reach a state by waiting. An active node has applied its own log completely, so it
   * cannot. A state of another cluster can be reached only if that cluster is the primary of this cluster.
   */
  #canReach(state: LogState): boolean {
    if (this.#isOwn(state)) return this.#options.isStandby
    return this.#options.upstream()?.clusterId === state.clusterId
  }

  #isOwn({ clusterId }: LogState): boolean {
    return clusterId === this.#options.own().clusterId
  }

  #isReached(state: LogState): boolean {
    const own = this.#options.own()
    if (this.#isOwn(state)) {
      return own.localIndex >= state.localIndex && own.replicatedIndex >= state.replicatedIndex
    }
    const upstream = this.#options.upstream()
    if (!upstream) return true
    return upstream.clusterId === state.clusterId && upstream.appliedIndex >= state.localIndex
  }

  /** Returns undefined for a header that no cluster of the replication set produced. Such a header is ignored. */
  #parse(header: string): LogState | undefined {
    const text = Buffer.from(header, 'base64').toString('utf8')
    const match = /^(v1:([^:]+):(\d{1,15}):(\d{1,15})):([0-9a-f]{64})$/.exec(text)
    if (!match) return undefined
    const [, signed = '', clusterId = '', local = '', replicated = '', mac = ''] = match
    if (!isSameSecret(Buffer.from(mac), Buffer.from(this.#mac(signed)))) return undefined
    return { clusterId, localIndex: Number(local), replicatedIndex: Number(replicated) }
  }

  #mac(text: string): string {
    return hmacSha256Hex(this.#options.key(), text)
  }
}

const notReached = (): LogicalError => new LogicalError('index-not-reached', 'required index state not present')

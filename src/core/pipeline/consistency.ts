import type { Clock } from '../../base/clock.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import type { LogState } from '../../logical/log-state.js'
import type { Request } from '../../logical/request.js'
import type { TokenStore } from '../tokens/tokens.js'
import { ForActiveNode } from './for-active-node.js'
import { isSameSecret } from '../../crypto/constant-time.js'
import { hmacSha256Hex } from '../../crypto/hmac.js'

interface ConsistencyOptions {
  readonly clock: Clock
  /** Derived from the shared keyring, so that every member of the set knows the others' states again. */
  readonly key: () => Buffer
  readonly own: () => LogState
  /** The cluster that is followed, and how much of its log is applied here; undefined for one that follows nobody. */
  readonly upstream: () => { readonly clusterId: string; readonly appliedIndex: number } | undefined
  readonly mayForward: boolean
  /** True on a performance standby, behind which is a node that may know better. */
  readonly isStandby: boolean
  /** How long `await-state` waits, and a performance standby for a token. */
  readonly awaitMs: number
  /** On a performance standby: resolves to true once it has all that was in the log when this was asked, false where it waits no more. */
  readonly reachEnd?: ((waitMs: number) => Promise<boolean>) | undefined
}

const POLL_MS = 10

/**
 * Read-your-writes across clusters: an answer to a write carries the state of the log, and a request that carries one back
 * is refused, or held, until the state is reached here.
 */
export class Consistency {
  readonly #options: ConsistencyOptions
  /** Writes that share a commit share its state. */
  #printed = { text: '', header: '' }

  constructor(options: ConsistencyOptions) {
    this.#options = options
  }

  /** The header for a state of this cluster's log, or of the one that committed a forwarded write. */
  print(state: LogState = this.#options.own()): string {
    const text = `v1:${state.clusterId}:${state.localIndex}:${state.replicatedIndex}`
    if (this.#printed.text !== text) {
      this.#printed = { text, header: Buffer.from(`${text}:${this.#mac(text)}`).toString('base64') }
    }
    return this.#printed.header
  }

  /** Throws 412 when a state that the request names is not reached; with `await-state` only after a wait. */
  async require(request: Request): Promise<void> {
    const header = request.headers['x-vault-index']
    if (header === undefined) return
    const states = [header]
      .flat()
      .flatMap((text) => text.split(','))
      .flatMap((text) => this.#parse(text.trim()) ?? [])
    if (states.length === 0) return
    const wish = String(request.headers['x-vault-inconsistent'] ?? '')
    if (wish === 'forward-active-node' && !this.#options.mayForward) {
      throw invalid('forwarding to the active node is disabled by the configuration')
    }
    const isReached = () => states.every((state) => this.#isReached(state))
    if (isReached()) return
    if (this.#options.isStandby && (wish === 'forward-active-node' || states.some((state) => !this.#isOwn(state)))) {
      throw new ForActiveNode()
    }
    const isHopeless = states.some((state) => !this.#isReached(state) && !this.#mayCome(state))
    if (wish === 'await-state' && !isHopeless && (await this.#becomes(isReached)) === 'reached') return
    throw notReached()
  }

  /**
   * On a performance standby: a token that is not known yet is waited for until it must be, if there is one. One that was handed out
   * at an index beyond the end of the log is of another log. Throws 412 where nobody can tell in time.
   */
  async requireToken(presented: string, tokens: Pick<TokenStore, 'awaitedIndex'>): Promise<void> {
    const isReached = () => this.#options.own().localIndex >= tokens.awaitedIndex(presented)
    if (!isReached() && (await this.#becomes(isReached)) === 'late') throw notReached()
  }

  /** 'never': everything that is in the log is here, and it is not reached. */
  async #becomes(isReached: () => boolean): Promise<'reached' | 'never' | 'late'> {
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

  /** False for a state that no wait brings: of this node's own log, which has no other end, or of one that is not followed. */
  #mayCome(state: LogState): boolean {
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

  /** Undefined for a header that no member of this set has printed: such a header is ignored. */
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

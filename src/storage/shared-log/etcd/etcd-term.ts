import { limitSignal } from '../../../base/linked-signal.js'
import { SHORT_HASH_BYTES } from '../../../crypto/digest.js'
import type { Entry } from '../../engine/engine.js'
import type { LogPosition } from '../shared-log.js'
import type { Compare, RequestOp, TxnResponse } from './etcd-api.js'
import { isFull, refuseWhenFull } from './etcd-connection.js'
import type { EtcdWork } from './etcd-forgetting.js'
import { type LogCompactor, OtherLeads } from './log-compactor.js'
import { replaceContent } from './etcd-replacement.js'
import { encodeHeartbeat, encodeMark, entryHashOf, type LogMark, parseMark, splitValue } from './etcd-layout.js'

/**
 * Options of one term of leadership. `ended` is aborted when the term is over. No request is retried after that,
 * because its caller has already received an error with an unknown outcome.
 */
interface EtcdTermOptions extends EtcdWork {
  /** The revision at which this node became the leader. */
  readonly term: string
  readonly lease: string
  readonly leaseMs: number
  readonly end: LogMark
  readonly compactor: LogCompactor
}

interface ChangeOptions {
  readonly failure?: readonly RequestOp[]
  readonly ends?: AbortSignal
  readonly onRetry?: () => void
}

/** The etcd requests of one leader. Each change is conditional on this node still being the leader. */
export class EtcdTerm {
  readonly #options: EtcdTermOptions
  #end: LogMark

  constructor(options: EtcdTermOptions) {
    this.#options = options
    this.#end = options.end
  }

  /**
   * Appends one entry. Resolves to false, without a change, if another node is the leader. Rejects with `LogRefused` if
   * etcd is full. After a lost response, a retry detects an entry that etcd has already appended.
   */
  async append(index: number, entry: Buffer): Promise<boolean> {
    await this.#options.compactor.waitForSpace()
    const { layout } = this.#options
    const hash = Buffer.from(entry.subarray(0, SHORT_HASH_BYTES))
    const end = { index, hash, bytes: this.#end.bytes + entry.length }
    const { first, rest } = splitValue(entry)
    for (const [at, value] of rest.entries()) {
      const part = await this.#change([], [{ request_put: { key: layout.part(index, at), value } }]).catch(
        refuseWhenFull,
      )
      if (!part.succeeded) return false
    }
    if (!(await this.#put(first, end))) return false
    this.#end = end
    this.#options.compactor.appended(end)
    return true
  }

  /** Replaces all data of the cluster. Resolves to undefined if another node is the leader. */
  async replace(content: AsyncIterable<readonly Entry[]>): Promise<LogPosition | undefined> {
    const { compactor } = this.#options
    const end = this.#end
    const change = (operations: readonly RequestOp[]) => compactor.change(operations)
    const options = { ...this.#options, end, isEnd: this.#isEnd(), change }
    const next = await compactor.whilePaused((base) => replaceContent(options, base, content)).catch(undefinedWhenLost)
    if (!next) return undefined
    const { index, hash, bytes } = next
    this.#end = { index, hash, bytes }
    compactor.appended(this.#end)
    return { index, hash }
  }

  /** Renews the lease, and writes the heartbeat for other nodes. Resolves to false if the leadership is lost. */
  async renew(): Promise<boolean> {
    const { connection, lease, leaseMs } = this.#options
    const [seconds, isLeader] = await Promise.all([connection.keepAlive(lease, leaseMs), this.#beat()])
    return seconds > 0 && isLeader
  }

  /** Writes the heartbeat. If etcd is full, deletes it instead, so that other nodes rely on the lease alone. */
  async #beat(): Promise<boolean> {
    const { layout, lease, leaseMs, clock, ended } = this.#options
    const { heartbeat: key } = layout
    using limited = limitSignal(clock, leaseMs, ended, 'etcd did not respond in time')
    const ends = limited.signal
    const put = { request_put: { key, value: encodeHeartbeat(leaseMs), lease } }
    const beat = await this.#change([], [put], { ends }).catch((error: unknown) => {
      if (!isFull(error)) throw error
      return this.#change([], [{ request_delete_range: { key } }], { ends })
    })
    return beat.succeeded
  }

  async release(): Promise<void> {
    await this.#options.connection.ask('LeaseRevoke', { ID: this.#options.lease })
  }

  async #put(first: Buffer, end: LogMark): Promise<boolean> {
    const { connection, layout, ended } = this.#options
    const key = layout.log(end.index)
    const puts = [{ request_put: { key, value: first } }, { request_put: { key: layout.end, value: encodeMark(end) } }]
    const reads = [{ request_range: { key } }, { request_range: { key: layout.end } }]
    let isRetried = false
    try {
      const { succeeded, responses } = await this.#change([this.#isEnd()], puts, {
        failure: reads,
        onRetry: () => {
          isRetried = true
        },
      })
      return succeeded || isAppended(responses, end)
    } catch (error) {
      if (!isFull(error)) throw error
      // etcd can execute a request that uses the last free space, and still report that it is full.
      const { responses } = await connection.ask('Txn', { compare: [], success: reads }, ended)
      if (isAppended(responses, end)) return true
      // etcd may still execute an earlier attempt that got no response.
      return isRetried ? Promise.reject(error) : refuseWhenFull(error)
    }
  }

  /** Executes operations in one transaction if this node is the leader and all comparisons succeed. */
  #change(
    compare: readonly Compare[],
    success: readonly RequestOp[],
    { failure = [], ends = this.#options.ended, onRetry }: ChangeOptions = {},
  ): Promise<TxnResponse> {
    const { connection, layout, term } = this.#options
    const leads: Compare = { target: 'CREATE', key: layout.leader, create_revision: term }
    return connection.ask('Txn', { compare: [leads, ...compare], success, failure }, ends, onRetry)
  }

  #isEnd(): Compare {
    const { end } = this.#options.layout
    return this.#end.index === 0
      ? { target: 'CREATE', key: end, create_revision: '0' }
      : { target: 'VALUE', key: end, value: encodeMark(this.#end) }
  }
}

const undefinedWhenLost = (error: unknown): undefined => {
  if (!(error instanceof OtherLeads)) throw error
}

/** Returns true if the log contains the entry of a failed append. Throws if only the image may contain the entry. */
const isAppended = (responses: TxnResponse['responses'], wanted: LogMark): boolean => {
  const [found, end] = responses.map(({ response_range }) => response_range?.kvs[0]?.value)
  if (found) return entryHashOf(found).equals(wanted.hash)
  if (parseMark(end).index < wanted.index) return false
  throw new Error(`cannot determine whether entry ${wanted.index} was appended: the image contains it already`)
}

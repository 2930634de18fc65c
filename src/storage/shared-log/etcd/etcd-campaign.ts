import { LeasedLeadership } from '../leased-leadership.js'
import type { Candidate, Leadership } from '../shared-log.js'
import { isFull } from './etcd-connection.js'
import type { EtcdWork } from './etcd-forgetting.js'
import { LogCompactor, type LogBounds } from './log-compactor.js'
import { encodeHeartbeat, type LogMark, parseMark } from './etcd-layout.js'
import type { EtcdWatcher } from './etcd-watcher.js'
import type { EtcdReader } from './etcd-reader.js'
import { EtcdTerm } from './etcd-term.js'

interface EtcdCampaignOptions extends Omit<EtcdWork, 'ended'> {
  readonly watcher: EtcdWatcher
  readonly reader: EtcdReader
  readonly leaseMs: number
  readonly bounds: LogBounds
}

interface Won {
  readonly term: string
  readonly lease: string
  /** The monotonic time, in milliseconds, before this node requested the lease. */
  readonly sentMs: number
  readonly end: LogMark
}

/** Waits until this node is the leader. Rejects with the signal's reason, or with etcd's error. */
export const campaign = async (
  options: EtcdCampaignOptions,
  candidate: Candidate,
  signal: AbortSignal,
): Promise<Leadership> => {
  const { connection, watcher, clock, log, leaseMs } = options
  const ends = AbortSignal.any([signal, connection.ended])
  for (;;) {
    ends.throwIfAborted()
    const changed = watcher.next(ends)
    try {
      if (watcher.leader) await depose(options, ends)
      else {
        const won = await tryLead(options, candidate, ends)
        if (won) return begin(options, won)
      }
    } catch (error) {
      if (ends.aborted || !isFull(error)) throw error
      log.warn('cannot campaign for leadership: etcd has no space for a lease, trying again', { error })
      await clock.sleep(leaseMs, ends)
      continue
    }
    await changed
  }
}

/** Removes a leader that sent no heartbeat for the duration of its lease. Does nothing if a heartbeat arrives first. */
const depose = async ({ connection, layout, watcher, log }: EtcdCampaignOptions, ends: AbortSignal): Promise<void> => {
  const revision = watcher.missedHeartbeat
  if (revision === undefined) return
  const { succeeded } = await connection.ask(
    'Txn',
    {
      compare: [{ target: 'MOD', key: layout.heartbeat, mod_revision: revision }],
      success: [layout.leader, layout.heartbeat].map((key) => ({ request_delete_range: { key } })),
    },
    ends,
  )
  if (succeeded) log.info('the leader was removed: it sent no heartbeat for the duration of its lease')
}

/** Tries to become the leader. Resolves to undefined if another node is the leader. */
const tryLead = async (
  { connection, layout, clock, leaseMs }: EtcdCampaignOptions,
  candidate: Candidate,
  ends: AbortSignal,
): Promise<Won | undefined> => {
  const sentMs = clock.monotonic()
  const { ID: lease } = await connection.ask('LeaseGrant', { TTL: Math.ceil(leaseMs / 1000) }, ends)
  const revoke = () => connection.ask('LeaseRevoke', { ID: lease }).catch(() => undefined)
  const value = Buffer.from(JSON.stringify({ ...candidate, activeSinceMs: clock.now() }))
  const read = [layout.leader, layout.end].map((key) => ({ request_range: { key } }))
  try {
    const { succeeded, header, responses } = await connection.ask(
      'Txn',
      {
        compare: [{ target: 'CREATE', key: layout.leader, create_revision: '0' }],
        success: [
          { request_put: { key: layout.leader, value, lease } },
          ...read.slice(1),
          { request_put: { key: layout.heartbeat, value: encodeHeartbeat(leaseMs), lease } },
        ],
        failure: read,
      },
      ends,
    )
    const [leader, end] = responses.map(({ response_range }) => response_range?.kvs[0])
    // If etcd executed the request before a retry, this node is the leader already.
    if (succeeded || leader?.lease === lease) {
      const term = succeeded ? header.revision : String(leader?.create_revision)
      return { term, lease, sentMs, end: parseMark(end?.value) }
    }
  } catch (error) {
    void revoke()
    throw error
  }
  await revoke()
  return undefined
}

const begin = (options: EtcdCampaignOptions, { term, lease, sentMs, end }: Won): Leadership => {
  const { clock, leaseMs } = options
  const over = new AbortController()
  const ended = AbortSignal.any([over.signal, options.connection.ended])
  const compactor = new LogCompactor({ ...options, term, ended }, end)
  const calls = new EtcdTerm({ ...options, term, lease, end, ended, compactor })
  const { index, hash } = end
  const leadership = new LeasedLeadership({ clock, leaseMs, sentMs, term: Number(term), end: { index, hash }, calls })
  void leadership.lost.then(() => over.abort(new Error('the term is over')))
  void compactor.run()
  return leadership
}

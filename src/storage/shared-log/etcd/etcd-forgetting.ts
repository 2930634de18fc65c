import { Backoff } from '../../../base/backoff.js'
import type { Facilities } from '../../../base/facilities.js'
import { type EtcdConnection, isFull } from './etcd-connection.js'
import { type EtcdLayout, parseMark } from './etcd-layout.js'

/** Dependencies of a task that works on the data of this cluster in etcd. */
export interface EtcdWork extends Pick<Facilities, 'clock' | 'random' | 'log'> {
  readonly connection: EtcdConnection
  readonly layout: EtcdLayout
  /** Aborts the task. */
  readonly ended: AbortSignal
}

/** Timeout of one defragmentation, in milliseconds. A member serves no requests while it defragments. */
const DEFRAGMENT_MS = 60_000
/** TTL, in seconds, of the lock for defragmentation. If the holder of the lock fails, other nodes wait this long. */
const TURN_SECONDS = (1.5 * DEFRAGMENT_MS) / 1000
/** Backoff between attempts to get the lock. */
const TURN_BACKOFF = { initialMs: 50, maxMs: 2000 }

/**
 * Removes data that was deleted up to a revision from the database files of all configured members. Nodes do this one
 * at a time, because members that defragment simultaneously cannot form a quorum. Rejects with etcd's error.
 */
export const forgetUpTo = async (options: EtcdWork, revision: string): Promise<void> => {
  const { connection, ended } = options
  await connection.ask('Compact', { revision, physical: true }, ended).catch((error: unknown) => {
    // Another node has requested this compaction. etcd still completes it on this member before it responds.
    if (!(error instanceof Error && /compacted/.test(error.message))) throw error
  })
  const turn = await awaitTurn(options)
  try {
    await connection.askEach('Defragment', {}, { timeoutMs: DEFRAGMENT_MS, signal: ended })
  } finally {
    turn.end()
  }
}

/** Waits until this node holds the lock for defragmentation. If etcd has no space for it, continues without it. */
const awaitTurn = async ({ connection, layout, clock, random, ended }: EtcdWork): Promise<{ end(): void }> => {
  const { turn: key } = layout
  const backoff = new Backoff(TURN_BACKOFF, random)
  const revoke = (ID: string) => void connection.ask('LeaseRevoke', { ID }).catch(() => undefined)
  const begin = async (): Promise<string | undefined> => {
    const { kvs } = await connection.ask('Range', { key }, ended)
    if (kvs.length > 0) return undefined
    const { ID: lease } = await connection.ask('LeaseGrant', { TTL: TURN_SECONDS }, ended)
    const { succeeded, responses } = await connection
      .ask(
        'Txn',
        {
          compare: [{ target: 'CREATE', key, create_revision: '0' }],
          success: [{ request_put: { key, value: Buffer.alloc(0), lease } }],
          failure: [{ request_range: { key } }],
        },
        ended,
      )
      .catch((error: unknown) => {
        revoke(lease)
        throw error
      })
    // If etcd executed the request before a retry, this node holds the lock already.
    if (succeeded || responses[0]?.response_range?.kvs[0]?.lease === lease) return lease
    revoke(lease)
    return undefined
  }
  for (;;) {
    try {
      const lease = await begin()
      if (lease !== undefined) return { end: () => revoke(lease) }
    } catch (error) {
      if (ended.aborted || !isFull(error)) throw error
      return { end: () => undefined }
    }
    await clock.sleep(backoff.next(), ended)
  }
}

/**
 * Resolves to the revision at which the leader deleted replaced data. Resolves to `nothing` if no data was ever
 * replaced, and to `later` if the leader has not deleted the replaced data yet.
 */
export const findForgettable = async ({
  connection,
  layout,
  ended,
}: Pick<EtcdWork, 'connection' | 'layout' | 'ended'>): Promise<'nothing' | 'later' | { readonly revision: string }> => {
  const success = [layout.base, layout.forgotten].map((key) => ({ request_range: { key } }))
  const { responses } = await connection.ask('Txn', { compare: [], success }, ended)
  const [base, forgotten] = responses.map(({ response_range }) => response_range?.kvs[0])
  const { life } = parseMark(base?.value)
  if (life === 0) return 'nothing'
  return forgotten && Number(forgotten.value) >= life ? { revision: forgotten.mod_revision } : 'later'
}

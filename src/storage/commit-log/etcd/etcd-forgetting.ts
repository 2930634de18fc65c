import { Backoff } from '../../../base/backoff.js'
import type { Clock } from '../../../base/clock.js'
import type { Random } from '../../../base/random.js'
import { type EtcdConnection, isFull } from './etcd-connection.js'
import { type EtcdLayout, parseMark } from './etcd-layout.js'

interface ForgettingOptions {
  readonly connection: EtcdConnection
  readonly layout: EtcdLayout
  readonly clock: Clock
  readonly random: Random
  /** Ends it. */
  readonly ended: AbortSignal
}

/** A member does nothing else meanwhile. */
const DEFRAGMENT_MS = 60_000
/** Whoever dies in its turn, or is cut off, holds up the others for so long. */
const TURN_SECONDS = (1.5 * DEFRAGMENT_MS) / 1000
/** Between two looks at whether it is this node's turn. */
const TURN_BACKOFF = { initialMs: 50, maxMs: 2000 }

/**
 * Of every member that has an address here: what was deleted up to the revision is in its files no more. Nodes take turns, since
 * members that are all busy with their files are no quorum.
 */
export const forgetUpTo = async (options: ForgettingOptions, revision: string): Promise<void> => {
  const { connection, ended } = options
  await connection.ask('Compact', { revision, physical: true }, ended).catch((error: unknown) => {
    // Somebody else has asked for it; it is answered when it is done here all the same.
    if (!(error instanceof Error && /compacted/.test(error.message))) throw error
  })
  const turn = await awaitTurn(options)
  try {
    await connection.askEach('Defragment', {}, { timeoutMs: DEFRAGMENT_MS, signal: ended })
  } finally {
    turn.end()
  }
}

/** Resolves when no other node is in its turn. An etcd without any room has none for turns either: they are gone without. */
const awaitTurn = async ({ connection, layout, clock, random, ended }: ForgettingOptions): Promise<{ end(): void }> => {
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
    // Asked again after an answer was lost, it is this node's own.
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
 * Up to which revision what was replaced is deleted: 'nothing' where nothing ever was, 'later' where the leader has yet to delete it.
 */
export const findForgettable = async ({
  connection,
  layout,
  ended,
}: Pick<ForgettingOptions, 'connection' | 'layout' | 'ended'>): Promise<
  'nothing' | 'later' | { readonly revision: string }
> => {
  const success = [layout.base, layout.forgotten].map((key) => ({ request_range: { key } }))
  const { responses } = await connection.ask('Txn', { compare: [], success }, ended)
  const [base, forgotten] = responses.map(({ response_range }) => response_range?.kvs[0])
  const { life } = parseMark(base?.value)
  if (life === 0) return 'nothing'
  return forgotten && Number(forgotten.value) >= life ? { revision: forgotten.mod_revision } : 'later'
}

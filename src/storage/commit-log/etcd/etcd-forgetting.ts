import type { EtcdConnection } from './etcd-connection.js'
import { type EtcdLayout, parseMark } from './etcd-layout.js'

interface ForgettingOptions {
  readonly connection: EtcdConnection
  /** Ends it. */
  readonly ended: AbortSignal
}

/** A member does nothing else meanwhile. */
const DEFRAGMENT_MS = 60_000

/** Of every member that has an address here: what was deleted up to the revision is in its files no more. */
export const forgetUpTo = async ({ connection, ended }: ForgettingOptions, revision: string): Promise<void> => {
  await connection.ask('Compact', { revision, physical: true }, ended).catch((error: unknown) => {
    // Somebody else has asked for it; it is answered when it is done here all the same.
    if (!(error instanceof Error && /compacted/.test(error.message))) throw error
  })
  await connection.askEach('Defragment', {}, { timeoutMs: DEFRAGMENT_MS, signal: ended })
}

/**
 * Up to which revision what was replaced is deleted: 'nothing' where nothing ever was, 'later' where the leader has yet to delete it.
 */
export const findForgettable = async (
  { connection, ended }: ForgettingOptions,
  layout: EtcdLayout,
): Promise<'nothing' | 'later' | { readonly revision: string }> => {
  const success = [layout.base, layout.forgotten].map((key) => ({ request_range: { key } }))
  const { responses } = await connection.ask('Txn', { compare: [], success }, ended)
  const [base, forgotten] = responses.map(({ response_range }) => response_range?.kvs[0])
  const { life } = parseMark(base?.value)
  if (life === 0) return 'nothing'
  return forgotten && Number(forgotten.value) >= life ? { revision: forgotten.mod_revision } : 'later'
}

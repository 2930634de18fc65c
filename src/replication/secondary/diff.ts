import { SHORT_HASH_BYTES as HASH } from '../../crypto/digest.js'
import type { Tree } from '../../storage/keys/key-families.js'
import type { TreeHashes } from '../../storage/keys/replicable.js'
import { differingHashes } from '../../storage/trees/leaf.js'
import type { PrimaryConnection } from '../rpc/transport.js'
import type { PeerIdentityMessage } from '../rpc/messages.js'

const GROUPS = 4096
const FAN_OUT = 16
/** Maximum number of groups per call. Their hashes have 320 KiB. */
const GROUPS_PER_CALL = 1024

export interface DiffCall {
  readonly connection: Pick<PrimaryConnection, 'call' | 'fetchKeys'>
  readonly session: string
  readonly who: () => PeerIdentityMessage
  readonly signal: AbortSignal
}

/**
 * Resolves to the sub-pages of a tree that differ from the primary's, ascending. Compares three levels of the tree with
 * two rounds of calls.
 */
export const findConflicts = async (call: DiffCall, tree: Tree, own: TreeHashes): Promise<number[]> => {
  const { connection, session, who, signal } = call
  const number = treeNumber(tree)
  const pages = await connection.call(
    'conflictingPages',
    { who: who(), session, tree: number, pages: own.pages() },
    { signal },
  )
  const groups = pages.pages.flatMap((page, i) =>
    differing(own.groups(page), pages.groups.subarray(i * FAN_OUT * HASH), page * FAN_OUT),
  )
  const subPages: number[] = []
  for (let at = 0; at < groups.length; at += GROUPS_PER_CALL) {
    const asked = groups.slice(at, at + GROUPS_PER_CALL)
    const reply = await connection.call(
      'subPageHashes',
      { who: who(), session, tree: number, groups: asked },
      { signal },
    )
    for (const [i, group] of asked.entries()) {
      const theirs = reply.sub_pages.subarray(i * FAN_OUT * HASH)
      subPages.push(...differing(own.subPages(group), theirs, group * FAN_OUT))
    }
  }
  return subPages
}

/**
 * Returns the sub-pages whose hash is not zero. Omits a sub-page if the hashes of its stored and filtered keys cancel
 * each other out.
 */
export const usedSubPages = (own: TreeHashes): number[] => {
  const used: number[] = []
  for (let group = 0; group < GROUPS; group++)
    used.push(...differing(own.subPages(group), EMPTY_GROUP, group * FAN_OUT))
  return used
}

const EMPTY_GROUP = Buffer.alloc(FAN_OUT * HASH)

/** Returns the number of a tree in `proto/replication.proto`. */
export const treeNumber = (tree: Tree): 0 | 1 => (tree === 'local' ? 1 : 0)

/** Returns the numbers of the hashes that differ. `base` is the number of the first of the 16 hashes. */
const differing = (own: Buffer, theirs: Buffer, base: number): number[] =>
  differingHashes(own, theirs, FAN_OUT).map((n) => base + n)

/**
 * The two kinds of replication, as in API paths.
 *
 * @example
 * import { type Kind, startLab } from 'understudy-lab'
 *
 * await using lab = await startLab('pr-dr')
 * const modes = async (kind: Kind) => Promise.all(lab.clusters.map((cluster) => cluster.status(kind)))
 * console.log(await modes('dr'), await modes('performance'))
 */
export type Kind = 'dr' | 'performance'

export const KINDS: readonly Kind[] = ['dr', 'performance']

/** The two kinds of replication in messages. */
export const KIND_WORDS: Readonly<Record<Kind, string>> = { dr: 'DR', performance: 'performance' }

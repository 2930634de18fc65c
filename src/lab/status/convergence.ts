import { KIND_WORDS, KINDS, type Kind } from '../model/kinds.js'
import type { ClusterView } from './cluster-view.js'
import { findPrimary } from './links.js'
import type { Survey } from './survey.js'

/**
 * Returns the first reason why a lab is not converged. Undefined if each secondary has all data of its primary. A secondary
 * without a primary in the lab is not converged.
 */
export const findUnconverged = ({ clusters }: Pick<Survey, 'clusters'>): string | undefined => {
  for (const cluster of clusters) {
    for (const kind of KINDS) {
      const text = cluster[kind].mode === 'secondary' ? findBehind(cluster, clusters, kind) : findNoRole(cluster, kind)
      if (text !== undefined) return `${cluster.name} ${text}`
    }
  }
  const isAlone = (cluster: ClusterView) => KINDS.every((kind) => ['disabled', '-'].includes(cluster[kind].mode))
  const alone = clusters.find(isAlone)
  return alone && clusters.length > 1 ? `${alone.name} takes no part in replication` : undefined
}

const findNoRole = (cluster: ClusterView, kind: Kind): string | undefined => {
  if (cluster.problems.length > 0) return cluster.problems[0]
  return cluster[kind].mode === 'bootstrapping' ? 'takes its first copy' : undefined
}

const findBehind = (cluster: ClusterView, all: readonly ClusterView[], kind: Kind): string | undefined => {
  const { state, connectionState, merkleRoot } = cluster[kind]
  const word = KIND_WORDS[kind]
  if (state !== 'stream-wals' || connectionState !== 'ready')
    return `does not stream (${word}: ${state}, ${connectionState})`
  const primary = findPrimary(cluster, all, kind)
  if (!primary) return `follows a ${word} primary that is not in this lab`
  return primary[kind].merkleRoot === merkleRoot
    ? undefined
    : `has not all that its ${word} primary ${primary.name} has`
}

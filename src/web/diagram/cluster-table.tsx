import { useState } from 'preact/hooks'
import type { PageSurvey } from '../../lab/web/page-facts.js'
import { Button } from '../parts/inputs.js'
import { PlainTable } from '../parts/table.js'
import { isSplit, KIND_WORDS, lagOf, nodeStatusOf, rolesOf, clusterStatusOf, walOf } from '../parts/words.js'

/** The diagram as tables: screen readers always get them, and a button shows them to other users. */
export const ClusterTable = ({ survey }: { readonly survey: PageSurvey }) => {
  const { clusters, links, faults } = survey
  const [isShown, setShown] = useState(false)
  /** Describes the faults between two clusters or nodes, or with one name, all faults of its links. */
  const faultsAt = (...ends: readonly string[]) =>
    (faults ?? [])
      .filter(({ between }) => ends.every((name) => between?.includes(name)))
      .map(({ text }) => text)
      .join('; ')
  return (
    <div class="facts-table">
      <Button
        label={isShown ? 'Hide table' : 'Show as table'}
        aria-expanded={isShown}
        onClick={() => setShown(!isShown)}
      />
      <div class={isShown ? 'scroll' : 'unseen'}>
        <PlainTable
          caption="Clusters"
          heads={['Cluster', 'State', 'Roles', 'WAL', 'Address']}
          rows={clusters.map((cluster) => ({
            cells: [
              cluster.name,
              `${clusterStatusOf(cluster).word}${isSplit(survey, cluster.name) ? ', split brain' : ''}`,
              rolesOf(cluster),
              walOf(cluster) ?? '',
              cluster.apiAddress,
            ],
          }))}
        />
        {clusters.some(({ nodes }) => nodes) && (
          <PlainTable
            caption="Nodes"
            heads={['Node', 'Cluster', 'State', 'Applied index', 'Faults', 'Address']}
            rows={clusters.flatMap((cluster) =>
              (cluster.nodes ?? []).map((node) => ({
                cells: [
                  node.name,
                  cluster.name,
                  nodeStatusOf(node).word,
                  node.appliedIndex ?? '',
                  faultsAt(node.name),
                  node.apiAddress,
                ],
              })),
            )}
          />
        )}
        <PlainTable
          caption="Replication topology"
          heads={['Secondary', 'Primary', 'Kind', 'State', 'Lag', 'Faults']}
          rows={links.map((link) => ({
            key: `${link.kind} ${link.secondary}`,
            cells: [
              link.secondary,
              link.primary ?? ['unreachable', link.lastPrimary].filter(Boolean).join(', last: '),
              KIND_WORDS[link.kind],
              [link.state, link.connectionState].filter((word) => word !== '').join(', '),
              lagOf(link),
              faultsAt(link.primary ?? link.lastPrimary ?? '', link.secondary),
            ],
          }))}
        />
      </div>
    </div>
  )
}

import { useState } from 'preact/hooks'
import type { PageSurvey } from '../../lab/web/page-facts.js'
import { Button } from '../parts/inputs.js'
import { PlainTable } from '../parts/table.js'
import { KIND_WORDS, lagOf, nodeStatusOf, rolesOf, clusterStatusOf, walOf } from '../parts/words.js'

/** The facts of the diagram as tables: always available to screen readers, and shown to other users on request. */
export const ClusterTable = ({ survey: { clusters, links, faults } }: { readonly survey: PageSurvey }) => {
  const [isShown, setShown] = useState(false)
  /** Describes the faults of the links between these places, and of all links of one place. */
  const faultsAt = (...places: readonly string[]) =>
    (faults ?? [])
      .filter(({ between }) => places.every((place) => between?.includes(place)))
      .map(({ text }) => text)
      .join('; ')
  return (
    <div class="facts-table">
      <Button
        label={isShown ? 'Hide the table' : 'Show the same as a table'}
        aria-expanded={isShown}
        onClick={() => setShown(!isShown)}
      />
      <div class={isShown ? 'scroll' : 'unseen'}>
        <PlainTable
          caption="Clusters"
          heads={['cluster', 'state', 'roles', 'WAL', 'address']}
          rows={clusters.map((cluster) => ({
            cells: [
              cluster.name,
              clusterStatusOf(cluster).word,
              rolesOf(cluster),
              walOf(cluster) ?? '',
              cluster.apiAddress,
            ],
          }))}
        />
        {clusters.some(({ nodes }) => nodes) && (
          <PlainTable
            caption="Nodes"
            heads={['node', 'cluster', 'state', 'applied', 'faults', 'address']}
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
          caption="Who follows whom"
          heads={['secondary', 'primary', 'kind', 'state', 'lag', 'faults']}
          rows={links.map((link) => ({
            key: `${link.kind} ${link.secondary}`,
            cells: [
              link.secondary,
              link.primary ?? 'none that answers',
              KIND_WORDS[link.kind],
              [link.state, link.connectionState].filter((word) => word !== '').join(', '),
              lagOf(link),
              link.primary === null ? '' : faultsAt(link.primary, link.secondary),
            ],
          }))}
        />
      </div>
    </div>
  )
}

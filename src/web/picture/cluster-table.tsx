import { useState } from 'preact/hooks'
import type { PageFault, PageSurvey } from '../../lab/web/page-facts.js'
import { PlainTable } from '../parts/table.js'
import { KIND_WORDS, lagOf, nodeStandingOf, rolesOf, standingOf, walOf } from '../parts/words.js'

/** The facts of the diagram as tables: always available to screen readers, and shown to other users on request. */
export const ClusterTable = ({ survey }: { readonly survey: PageSurvey }) => {
  const [isShown, setShown] = useState(false)
  return (
    <div class="facts-table">
      <button type="button" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
        {isShown ? 'Hide the table' : 'Show the same as a table'}
      </button>
      <div class={isShown ? 'scroll' : 'unseen'}>
        <Clusters survey={survey} />
        {survey.clusters.some(({ nodes }) => nodes) && <Nodes survey={survey} />}
        <Followers survey={survey} />
      </div>
    </div>
  )
}

const Clusters = ({ survey }: { readonly survey: PageSurvey }) => (
  <PlainTable caption="Clusters" heads={['cluster', 'state', 'roles', 'WAL', 'address']}>
    {survey.clusters.map((cluster) => (
      <tr key={cluster.name}>
        <th scope="row">{cluster.name}</th>
        <td>{standingOf(cluster).word}</td>
        <td>{rolesOf(cluster)}</td>
        <td>{walOf(cluster) ?? ''}</td>
        <td>{cluster.apiAddress}</td>
      </tr>
    ))}
  </PlainTable>
)

const Nodes = ({ survey: { clusters, faults } }: { readonly survey: PageSurvey }) => (
  <PlainTable caption="Nodes" heads={['node', 'cluster', 'state', 'applied', 'faults', 'address']}>
    {clusters.flatMap((cluster) =>
      (cluster.nodes ?? []).map((node) => (
        <tr key={node.name}>
          <th scope="row">{node.name}</th>
          <td>{cluster.name}</td>
          <td>{nodeStandingOf(node).word}</td>
          <td>{node.appliedIndex ?? ''}</td>
          <td>{textsOf(faults, ({ between }) => between?.includes(node.name) === true)}</td>
          <td>{node.apiAddress}</td>
        </tr>
      )),
    )}
  </PlainTable>
)

const Followers = ({ survey }: { readonly survey: PageSurvey }) => (
  <PlainTable caption="Who follows whom" heads={['secondary', 'primary', 'kind', 'state', 'lag', 'faults']}>
    {survey.links.map((link) => (
      <tr key={`${link.kind} ${link.secondary}`}>
        <th scope="row">{link.secondary}</th>
        <td>{link.primary ?? 'none that answers'}</td>
        <td>{KIND_WORDS[link.kind]}</td>
        <td>{[link.state, link.connectionState].filter((word) => word !== '').join(', ')}</td>
        <td>{lagOf(link)}</td>
        <td>{faultsOf(survey, link)}</td>
      </tr>
    ))}
  </PlainTable>
)

const faultsOf = ({ faults }: PageSurvey, { primary, secondary }: PageSurvey['links'][number]): string =>
  textsOf(
    faults,
    ({ between }) => primary !== null && between?.includes(primary) === true && between.includes(secondary),
  )

const textsOf = (faults: PageSurvey['faults'], isMeant: (fault: PageFault) => boolean): string =>
  (faults ?? [])
    .filter(isMeant)
    .map(({ text }) => text)
    .join('; ')

import { useState } from 'preact/hooks'
import type { PageSurvey } from '../../lab/web/page-facts.js'
import { KIND_WORDS, lagOf, rolesOf, standingOf, walOf } from './words.js'

/** The facts of the picture as tables: read by screen readers always, and shown to whoever asks for them. */
export const ClusterTable = ({ survey }: { readonly survey: PageSurvey }) => {
  const [isShown, setShown] = useState(false)
  return (
    <div class="facts-table">
      <button type="button" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
        {isShown ? 'Hide the table' : 'Show the same as a table'}
      </button>
      <div class={isShown ? 'scroll' : 'unseen'}>
        <Clusters survey={survey} />
        <Followers survey={survey} />
      </div>
    </div>
  )
}

const Clusters = ({ survey }: { readonly survey: PageSurvey }) => (
  <table>
    <caption>Clusters</caption>
    <thead>
      <tr>
        {['cluster', 'state', 'roles', 'WAL', 'address'].map((head) => (
          <th key={head} scope="col">
            {head}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {survey.clusters.map((cluster) => (
        <tr key={cluster.name}>
          <th scope="row">{cluster.name}</th>
          <td>{standingOf(cluster).word}</td>
          <td>{rolesOf(cluster)}</td>
          <td>{walOf(cluster) ?? ''}</td>
          <td>{cluster.apiAddress}</td>
        </tr>
      ))}
    </tbody>
  </table>
)

const Followers = ({ survey }: { readonly survey: PageSurvey }) => (
  <table>
    <caption>Who follows whom</caption>
    <thead>
      <tr>
        {['secondary', 'primary', 'kind', 'state', 'lag', 'faults'].map((head) => (
          <th key={head} scope="col">
            {head}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {survey.links.map((link) => (
        <tr key={`${link.kind} ${link.secondary}`}>
          <th scope="row">{link.secondary}</th>
          <td>{link.primary ?? 'nobody that answers'}</td>
          <td>{KIND_WORDS[link.kind]}</td>
          <td>{[link.state, link.connectionState].filter((word) => word !== '').join(', ')}</td>
          <td>{lagOf(link)}</td>
          <td>{faultsOf(survey, link)}</td>
        </tr>
      ))}
    </tbody>
  </table>
)

const faultsOf = ({ faults }: PageSurvey, { primary, secondary }: PageSurvey['links'][number]): string =>
  (faults ?? [])
    .filter(({ between }) => primary !== null && between?.includes(primary) === true && between.includes(secondary))
    .map(({ text }) => text)
    .join('; ')

import type { PageLosses, PageSurvey } from '../../lab/web/page-facts.js'
import { Button } from '../parts/inputs.js'
import { CommandLine } from '../parts/text.js'
import type { OpenActions } from './lab-actions.js'

interface CardsProps {
  readonly survey: PageSurvey
  readonly openActions: OpenActions
}

/** The clusters that need attention after a failover: former primaries that can rejoin, and clusters with losses. */
export const Cards = ({ survey: { clusters, losses, actions }, openActions }: CardsProps) => (
  <>
    {clusters.map((cluster) => {
      const { name, dr, isFenced } = cluster
      const isFormerPrimary = dr.mode === 'secondary' || isFenced === true
      const available = isFormerPrimary && openActions ? (actions[`cluster ${name}`] ?? []) : []
      const rejoins = available.filter(({ action }) => action.verb === 'rejoin')
      const lost = losses.find((one) => one.cluster === name)
      if (rejoins.length === 0 && !lost) return null
      return (
        <section key={name} class="card" aria-label={`Cluster ${name} after a failover`} data-card={name}>
          <h3>{`Cluster ${name}`}</h3>
          {rejoins.length > 0 && (
            <p>{`${name} is a former primary. It follows no primary. Until it rejoins, it is not known which log entries it lost.`}</p>
          )}
          {rejoins.map((only) => (
            <Button
              key={only.label}
              class="main"
              label={`${only.title} …`}
              onClick={() => openActions?.({ key: `cluster ${name}`, title: `Cluster ${name}`, only })}
            />
          ))}
          {lost && <Losses losses={lost} />}
        </section>
      )
    })}
  </>
)

const Losses = ({
  losses: { cluster, entries, paths, pathsBeyond, restored, command },
}: {
  readonly losses: PageLosses
}) => (
  <>
    <p>
      {entries === 0
        ? `${cluster} may have discarded log entries that its successor does not have, and has no list of them.`
        : `${cluster} discarded ${entries} log ${entries === 1 ? 'entry' : 'entries'} that its successor does not have.`}
    </p>
    {paths.length > 0 && (
      <ul aria-label="Lost paths">
        {paths.map((path) => (
          <li key={path}>
            <code>{path}</code>
          </li>
        ))}
        {pathsBeyond > 0 && <li>{`and ${pathsBeyond} more`}</li>}
      </ul>
    )}
    {restored !== '' && (
      <p class="error">{`Credentials that came back: ${restored}. They are valid on the new primary: revoke them there.`}</p>
    )}
    <CommandLine text={command} />
  </>
)

import { render } from 'preact'
import { useEffect, useLayoutEffect, useReducer, useState } from 'preact/hooks'
import { ActionDialog } from './actions/action-dialog.js'
import { type OnAsk, offersOf, type Subject } from './actions/offers.js'
import { Inside } from './inside.js'
import { FIRST_VIEW, hashOf, type Place } from './cluster/place.js'
import type { Session } from './cluster/session.js'
import { usePlace } from './cluster/use-place.js'
import { connect } from './feed/connect.js'
import { BEGIN, isStale, type PageState, reduce } from './feed/state.js'
import type { PageSurvey } from '../lab/web/page-facts.js'
import { Overview } from './overview.js'
import { ServerPage } from './server-page.js'

const CONNECTION_TEXTS: Readonly<Record<PageState['connection'], string>> = {
  connecting: 'connecting …',
  live: 'live',
  lost: 'no answer from "understudy web"; trying again',
  full: 'there is no place for one more page: close another one, and this one goes on',
  ended: 'this session has ended: open the link that "understudy web" prints',
}

const App = () => {
  const [state, dispatch] = useReducer(reduce, BEGIN)
  const [asked, ask] = useState<Subject | undefined>()
  // Connects before the first paint, so that the first message arrives sooner.
  useLayoutEffect(() => connect(dispatch), [])
  const { survey, primaries } = state
  const onAsk = survey && survey.verbs.length > 0 && !isStale(state) ? ask : undefined
  useEffect(() => {
    document.title = survey ? `${survey.lab} · Understudy` : 'Understudy'
  }, [survey?.lab])
  const [sessions, setSessions] = useState<Readonly<Record<string, Session | undefined>>>({})
  const place = usePlace()
  const inside = survey?.clusters.some(({ name }) => name === place?.cluster) ? place : undefined
  return (
    <>
      <Header state={state} current={inside?.cluster} onAsk={onAsk} />
      {inside && (
        <main class="inside">
          <h2 class="unseen">{`Cluster ${inside.cluster}`}</h2>
          <Inside
            key={inside.cluster}
            root={`/_understudy/v1/clusters/${encodeURIComponent(inside.cluster)}`}
            place={inside}
            session={sessions[inside.cluster]}
            canWrite={survey !== undefined && survey.verbs.length > 0}
            onSession={(session) => setSessions((before) => ({ ...before, [inside.cluster]: session }))}
          />
        </main>
      )}
      <Overview state={state} isHidden={inside !== undefined} onAsk={onAsk} />
      {asked && survey && (
        <ActionDialog
          subject={asked}
          offers={offersOf(asked, survey, primaries)}
          topology={survey.topology}
          onClose={() => ask(undefined)}
        />
      )}
    </>
  )
}

interface ClustersProps {
  readonly survey: PageSurvey
  /** The open cluster. */
  readonly current: Place['cluster'] | undefined
}

const Clusters = ({ survey: { clusters }, current }: ClustersProps) => (
  <nav class="clusters" aria-label="clusters">
    <a href="#/" {...(current === undefined ? { 'aria-current': 'page' } : {})}>
      All clusters
    </a>
    <span class="soft" aria-hidden="true">
      inside
    </span>
    {clusters.map(({ name }) => (
      <a
        key={name}
        href={hashOf({ cluster: name, view: FIRST_VIEW })}
        {...(name === current ? { 'aria-current': 'page' } : {})}
      >
        <span class="unseen">Inside </span>
        {name}
      </a>
    ))}
  </nav>
)

interface HeaderProps extends Pick<ClustersProps, 'current'> {
  readonly state: PageState
  readonly onAsk: OnAsk
}

const Header = ({ state, state: { survey }, current, onAsk }: HeaderProps) => (
  <header>
    <h1>
      Understudy{survey && <span class="lab"> {survey.lab}</span>}
      {survey && survey.topology !== survey.lab && <span class="topology"> {survey.topology}</span>}
    </h1>
    {survey && <Clusters survey={survey} current={current} />}
    {onAsk && (
      <button type="button" class="of-lab" onClick={() => onAsk({ of: 'lab' })}>
        Drill, snapshot, reset …
      </button>
    )}
    <Connection {...state} />
  </header>
)

/** Shows whether the data is current. */
const Connection = ({ connection, gone }: PageState) => {
  const isGone = connection === 'live' && gone !== undefined
  return (
    <p class={`connection ${isGone ? 'lost' : connection}`} role="status">
      <span aria-hidden="true">{connection === 'live' && !isGone ? '●' : '○'}</span>{' '}
      {isGone ? 'there is no lab' : CONNECTION_TEXTS[connection]}
    </p>
  )
}

render(location.pathname.startsWith('/ui/') ? <ServerPage /> : <App />, document.body)

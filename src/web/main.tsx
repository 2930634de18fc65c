import { render } from 'preact'
import { useLayoutEffect, useMemo, useReducer, useState } from 'preact/hooks'
import { ActionDialog } from './actions/dialog.js'
import { askRootToken, labAction, type OnAsk, type Subject } from './actions/lab-actions.js'
import { FIRST_VIEW, hashOf, type PageRoute } from './cluster/route.js'
import { connect, connectToServer } from './feed/connect.js'
import { BEGIN, isStale, type PageState, reduce } from './feed/state.js'
import { Inside, titleOf, useRoute } from './inside.js'
import { Overview, PageHeader } from './overview.js'
import { apiAt, get, type Session, textOf } from './parts/api.js'
import { Button } from './parts/inputs.js'
import { ClusterProvider, LOOK_MS, NO_CLUSTER, useRead } from './cluster/context.js'

const CONNECTION_TEXTS: Readonly<Record<PageState['connection'], string>> = {
  connecting: 'Connecting …',
  live: 'Live',
  lost: '"understudy web" does not respond; retrying',
  full: 'Too many pages are open. Close one to connect this page.',
  ended: 'This session has ended. Open the link that "understudy web" prints.',
}

const App = () => {
  const [state, dispatch] = useReducer(reduce, BEGIN)
  const [asked, ask] = useState<Subject | undefined>()
  // Connects before the first paint, so that the first message arrives sooner.
  useLayoutEffect(() => connect(dispatch), [])
  const { survey } = state
  const canWrite = survey !== undefined && Object.keys(survey.actions).length > 0
  const onAsk = canWrite && !isStale(state) ? ask : undefined
  const [sessions, setSessions] = useState<Readonly<Record<string, Session | undefined>>>({})
  const place = useRoute()
  const inside = survey?.clusters.some(({ name }) => name === place?.cluster) ? place : undefined
  return (
    <>
      <Header state={state} place={inside} onAsk={onAsk} />
      {inside && (
        <main class="inside">
          <h2 class="unseen">{`Cluster ${inside.cluster}`}</h2>
          <Inside
            key={inside.cluster}
            root={`/_understudy/v1/clusters/${encodeURIComponent(inside.cluster)}`}
            place={inside}
            session={sessions[inside.cluster]}
            canWrite={canWrite}
            onRootToken={canWrite ? () => askRootToken(inside.cluster) : undefined}
            onSession={(session) => setSessions((before) => ({ ...before, [inside.cluster]: session }))}
          />
        </main>
      )}
      <Overview state={state} isHidden={inside !== undefined} onAsk={onAsk} />
      {asked && survey && (
        <ActionDialog
          title={asked.title}
          only={asked.only && labAction(asked.only, survey.topology)}
          menu={(survey.actions[asked.key] ?? []).map((one) => labAction(one, survey.topology))}
          onClose={() => ask(undefined)}
        />
      )}
    </>
  )
}

interface HeaderProps {
  readonly state: PageState
  /** The open view of a cluster. */
  readonly place: PageRoute | undefined
  readonly onAsk: OnAsk
}

const Header = ({ state: { survey, connection, gone }, place, onAsk }: HeaderProps) => {
  const isGone = connection === 'live' && gone !== undefined
  return (
    <PageHeader
      name={survey?.lab ?? ''}
      view={place && `${titleOf(place)} · ${place.cluster}`}
      detail={survey && survey.topology !== survey.lab ? survey.topology : ''}
      look={isGone ? 'lost' : connection}
      text={isGone ? 'No lab' : CONNECTION_TEXTS[connection]}
    >
      {survey && (
        <nav class="clusters" aria-label="Clusters">
          <a href="#/" aria-current={place === undefined ? 'page' : undefined}>
            All clusters
          </a>
          <span class="soft" aria-hidden="true">
            Cluster
          </span>
          {survey.clusters.map(({ name }) => (
            <a
              key={name}
              href={hashOf({ cluster: name, view: FIRST_VIEW, item: '' })}
              aria-current={name === place?.cluster ? 'page' : undefined}
            >
              <span class="unseen">Cluster </span>
              {name}
            </a>
          ))}
        </nav>
      )}
      {onAsk && (
        <Button class="of-lab" label="Drill, snapshot, reset …" onClick={() => onAsk({ key: 'lab', title: 'Lab' })} />
      )}
    </PageHeader>
  )
}

const OWN = { cluster: 'server', view: FIRST_VIEW, item: '' } as const
const OVERVIEW = { cluster: 'overview', view: 'all', item: '' } as const

const ServerPage = () => {
  const [session, setSession] = useState<Session | undefined>()
  const place = useRoute() ?? OWN
  const [state, dispatch] = useReducer(reduce, BEGIN)
  // Connects before the first paint, so that the first message arrives sooner.
  useLayoutEffect(() => connectToServer(dispatch), [])
  const isOverview = place.cluster === OVERVIEW.cluster
  const anyone = useMemo(() => ({ ...NO_CLUSTER, ask: apiAt('') }), [])
  return (
    <ClusterProvider value={anyone}>
      <ServerHeader place={place} />
      <main class="inside" hidden={isOverview}>
        <h2 class="unseen">This cluster</h2>
        <Inside root="" place={isOverview ? OWN : place} session={session} canWrite onSession={setSession} />
      </main>
      <Overview state={state} isHidden={!isOverview} onAsk={undefined} />
    </ClusterProvider>
  )
}

const ServerHeader = ({ place }: { readonly place: PageRoute }) => {
  const isOverview = place.cluster === OVERVIEW.cluster
  const { value = {}, error } = useRead(get('sys/seal-status'), LOOK_MS)
  return (
    <PageHeader
      name={textOf(value, 'cluster_name')}
      view={isOverview ? 'Topology and events' : titleOf(place)}
      detail={textOf(value, 'version')}
      look={error === '' ? 'live' : 'lost'}
      text={error === '' ? 'Live' : `${error}; retrying`}
    >
      <nav class="clusters" aria-label="Pages of this server">
        <a href={hashOf(OWN)} aria-current={isOverview ? undefined : 'page'}>
          This cluster
        </a>
        <a href={hashOf(OVERVIEW)} aria-current={isOverview ? 'page' : undefined}>
          Topology and events
        </a>
      </nav>
    </PageHeader>
  )
}

render(location.pathname.startsWith('/ui/') ? <ServerPage /> : <App />, document.body)

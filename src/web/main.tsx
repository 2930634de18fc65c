import { render } from 'preact'
import { useLayoutEffect, useMemo, useReducer, useState } from 'preact/hooks'
import { ActionDialog } from './actions/dialog.js'
import { requestRootToken, labAction, type OpenActions, type Subject } from './actions/lab-actions.js'
import { FIRST_VIEW, hashOf, type PageRoute } from './cluster/route.js'
import { connect, connectToServer } from './feed/connect.js'
import { INITIAL_STATE, isStale, type PageState, reduce } from './feed/state.js'
import { ClusterPage, titleOf, useRoute } from './cluster-page.js'
import { Overview, PageHeader } from './overview.js'
import { apiAt, get, type Session, textOf } from './parts/api.js'
import { Button } from './parts/inputs.js'
import { ClusterProvider, STATUS_INTERVAL_MS, NO_CLUSTER, useRead } from './cluster/context.js'

const CONNECTION_TEXTS: Readonly<Record<PageState['connection'], string>> = {
  connecting: 'Connecting …',
  live: 'Live',
  lost: '"understudy web" does not respond; retrying',
  full: 'Too many pages are open. Close one to connect this page.',
  ended: 'This session has ended. Open the link that "understudy web" prints.',
}

/** The page of `understudy web`: all clusters of a lab. */
const App = () => {
  const [state, dispatch] = useReducer(reduce, INITIAL_STATE)
  const [subject, setSubject] = useState<Subject | undefined>()
  // Connects before the first paint, so that the first message arrives sooner.
  useLayoutEffect(() => connect(dispatch), [])
  const { survey } = state
  const canWrite = survey !== undefined && Object.keys(survey.actions).length > 0
  const openActions = canWrite && !isStale(state) ? setSubject : undefined
  const [sessions, setSessions] = useState<Readonly<Record<string, Session | undefined>>>({})
  const route = useRoute()
  const inside = survey?.clusters.some(({ name }) => name === route?.cluster) ? route : undefined
  return (
    <>
      <Header state={state} route={inside} openActions={openActions} />
      {inside && (
        <main class="inside">
          <h2 class="unseen">{`Cluster ${inside.cluster}`}</h2>
          <ClusterPage
            key={inside.cluster}
            root={`/_understudy/v1/clusters/${encodeURIComponent(inside.cluster)}`}
            route={inside}
            session={sessions[inside.cluster]}
            canWrite={canWrite}
            onRootToken={canWrite ? () => requestRootToken(inside.cluster) : undefined}
            onSession={(session) => setSessions((before) => ({ ...before, [inside.cluster]: session }))}
          />
        </main>
      )}
      <Overview state={state} isHidden={inside !== undefined} openActions={openActions} />
      {subject && survey && (
        <ActionDialog
          title={subject.title}
          only={subject.only && labAction(subject.only, survey.topology)}
          menu={(survey.actions[subject.key] ?? []).map((one) => labAction(one, survey.topology))}
          onClose={() => setSubject(undefined)}
        />
      )}
    </>
  )
}

interface HeaderProps {
  readonly state: PageState
  /** The open view of a cluster. Undefined on the overview. */
  readonly route: PageRoute | undefined
  readonly openActions: OpenActions
}

const Header = ({ state: { survey, connection, gone }, route, openActions }: HeaderProps) => {
  const isGone = connection === 'live' && gone !== undefined
  return (
    <PageHeader
      name={survey?.lab ?? ''}
      view={route && `${titleOf(route)} · ${route.cluster}`}
      detail={survey && survey.topology !== survey.lab ? survey.topology : ''}
      connection={isGone ? 'lost' : connection}
      statusText={isGone ? 'No lab' : CONNECTION_TEXTS[connection]}
    >
      {survey && (
        <nav class="clusters" aria-label="Clusters">
          <a href="#/" aria-current={route === undefined ? 'page' : undefined}>
            All clusters
          </a>
          <span class="soft" aria-hidden="true">
            Cluster
          </span>
          {survey.clusters.map(({ name }) => (
            <a
              key={name}
              href={hashOf({ cluster: name, view: FIRST_VIEW, item: '' })}
              aria-current={name === route?.cluster ? 'page' : undefined}
            >
              <span class="unseen">Cluster </span>
              {name}
            </a>
          ))}
        </nav>
      )}
      {openActions && (
        <Button class="of-lab" label="Lab actions …" onClick={() => openActions({ key: 'lab', title: 'Lab' })} />
      )}
    </PageHeader>
  )
}

/** Routes of the page of a server, which has only these two values of `cluster`. */
const SERVER_ROUTE = { cluster: 'server', view: FIRST_VIEW, item: '' } as const
const OVERVIEW_ROUTE = { cluster: 'overview', view: 'all', item: '' } as const

/** The page that a server serves below `/ui/`: its own cluster, and the clusters that it replicates with. */
const ServerPage = () => {
  const [session, setSession] = useState<Session | undefined>()
  const route = useRoute() ?? SERVER_ROUTE
  const [state, dispatch] = useReducer(reduce, INITIAL_STATE)
  // Connects before the first paint, so that the first message arrives sooner.
  useLayoutEffect(() => connectToServer(dispatch), [])
  const isOverview = route.cluster === OVERVIEW_ROUTE.cluster
  const withoutToken = useMemo(() => ({ ...NO_CLUSTER, ask: apiAt('') }), [])
  return (
    <ClusterProvider value={withoutToken}>
      <ServerHeader route={route} />
      <main class="inside" hidden={isOverview}>
        <h2 class="unseen">This cluster</h2>
        <ClusterPage
          root=""
          route={isOverview ? SERVER_ROUTE : route}
          session={session}
          canWrite
          onSession={setSession}
        />
      </main>
      <Overview state={state} isHidden={!isOverview} openActions={undefined} />
    </ClusterProvider>
  )
}

const ServerHeader = ({ route }: { readonly route: PageRoute }) => {
  const isOverview = route.cluster === OVERVIEW_ROUTE.cluster
  const { value = {}, error } = useRead(get('sys/seal-status'), STATUS_INTERVAL_MS)
  return (
    <PageHeader
      name={textOf(value, 'cluster_name')}
      view={isOverview ? 'Topology and events' : titleOf(route)}
      detail={textOf(value, 'version')}
      connection={error === '' ? 'live' : 'lost'}
      statusText={error === '' ? 'Live' : `${error}; retrying`}
    >
      <nav class="clusters" aria-label="Pages of this server">
        <a href={hashOf(SERVER_ROUTE)} aria-current={isOverview ? undefined : 'page'}>
          This cluster
        </a>
        <a href={hashOf(OVERVIEW_ROUTE)} aria-current={isOverview ? 'page' : undefined}>
          Topology and events
        </a>
      </nav>
    </PageHeader>
  )
}

render(location.pathname.startsWith('/ui/') ? <ServerPage /> : <App />, document.body)

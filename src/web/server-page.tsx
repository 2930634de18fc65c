import { useLayoutEffect, useMemo, useReducer, useState } from 'preact/hooks'
import { ClusterProvider, LOOK_MS, useRead } from './cluster/context.js'
import { FIRST_VIEW, hashOf } from './cluster/route.js'
import { connectToServer } from './feed/connect.js'
import { BEGIN, reduce } from './feed/state.js'
import { Inside, useRoute } from './inside.js'
import { Overview, PageHeader } from './overview.js'
import { apiAt, get, type Session, textOf } from './parts/api.js'

const OWN = { cluster: 'server', view: FIRST_VIEW } as const
const OVERVIEW = { cluster: 'overview', view: 'all' } as const

/** The web page of a single server. */
export const ServerPage = () => {
  const [session, setSession] = useState<Session | undefined>()
  const place = useRoute() ?? OWN
  const [state, dispatch] = useReducer(reduce, BEGIN)
  // Connects before the first paint, so that the first message arrives sooner.
  useLayoutEffect(() => connectToServer(dispatch), [])
  const isOverview = place.cluster === OVERVIEW.cluster
  const anyone = useMemo(() => ({ ask: apiAt(''), session: undefined, canWrite: true }), [])
  return (
    <ClusterProvider value={anyone}>
      <Header isOverview={isOverview} />
      <main class="inside" hidden={isOverview}>
        <h2 class="unseen">This cluster</h2>
        <Inside root="" place={isOverview ? OWN : place} session={session} canWrite onSession={setSession} />
      </main>
      <Overview state={state} isHidden={!isOverview} onAsk={undefined} />
    </ClusterProvider>
  )
}

const Header = ({ isOverview }: { readonly isOverview: boolean }) => {
  const { value = {}, error } = useRead(get('sys/seal-status'), LOOK_MS)
  return (
    <PageHeader
      name={textOf(value, 'cluster_name')}
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

import { useEffect, useMemo, useState } from 'preact/hooks'
import { apiAt } from './cluster/api.js'
import { get, textOf } from './cluster/call.js'
import { Inside } from './cluster/inside.js'
import { MeansProvider, useRead } from './cluster/means.js'
import { FIRST_VIEW } from './cluster/place.js'
import type { Session } from './cluster/session.js'
import { usePlace } from './cluster/use-place.js'

const LOOK_MS = 2000

/** The page that a server shows of itself. */
export const ServerPage = () => {
  const [session, setSession] = useState<Session | undefined>()
  const place = usePlace() ?? { cluster: 'server', view: FIRST_VIEW }
  const anyone = useMemo(() => ({ ask: apiAt(''), session: undefined, canWrite: true }), [])
  return (
    <MeansProvider value={anyone}>
      <Header />
      <main class="inside">
        <h2 class="unseen">This cluster</h2>
        <Inside root="" place={place} session={session} canWrite onSession={setSession} />
      </main>
    </MeansProvider>
  )
}

const Header = () => {
  const { value = {}, error } = useRead(get('sys/seal-status'), LOOK_MS)
  const name = textOf(value, 'cluster_name')
  useEffect(() => {
    document.title = name === '' ? 'Understudy' : `${name} · Understudy`
  }, [name])
  const version = textOf(value, 'version')
  return (
    <header>
      <h1>
        Understudy
        {name !== '' && <span class="lab"> {name}</span>}
        {version !== '' && <span class="topology"> {version}</span>}
      </h1>
      <p class={`connection ${error === '' ? 'live' : 'lost'}`} role="status">
        <span aria-hidden="true">{error === '' ? '●' : '○'}</span> {error === '' ? 'live' : `${error}; trying again`}
      </p>
    </header>
  )
}

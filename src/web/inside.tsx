import type { ComponentType } from 'preact'
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks'
import { ClusterProvider, LOOK_MS, useRead } from './cluster/context.js'
import { AppRoles, Audit, Mounts, Policies, Tokens } from './cluster/core-views.js'
import { Gate } from './cluster/gate.js'
import { Kv } from './cluster/kv.js'
import { Login, type LoginProps } from './cluster/login.js'
import { hashOf, type PageRoute, parseRoute } from './cluster/route.js'
import { Replication } from './cluster/replication.js'
import { Button } from './parts/inputs.js'
import { apiAt, type Call, get, partOf, type Session, textOf } from './parts/api.js'

interface View {
  readonly title: string
  readonly view: ComponentType
  /** True for a view that needs no sign-in. */
  readonly isOpen?: true
}

const VIEWS: Readonly<Record<string, View>> & { readonly replication: View } = {
  replication: { title: 'Replication', view: Replication, isOpen: true },
  secrets: { title: 'Secrets', view: Kv },
  mounts: { title: 'Mounts', view: Mounts },
  policies: { title: 'Policies', view: Policies },
  approles: { title: 'AppRoles', view: AppRoles },
  tokens: { title: 'Tokens', view: Tokens },
  audit: { title: 'Audit', view: Audit },
}

const viewAt = ({ view }: PageRoute): View => (Object.hasOwn(VIEWS, view) && VIEWS[view]) || VIEWS.replication

/** Returns the title of a view, for the title of the page. */
export const titleOf = (place: PageRoute): string => viewAt(place).title

interface InsideProps {
  /** The API address of this cluster as seen from this page. */
  readonly root: string
  readonly place: PageRoute
  readonly session: Session | undefined
  readonly canWrite: boolean
  /** Asks for a root token of the lab. Absent if the user may not have it. */
  readonly onRootToken?: LoginProps['onRootToken']
  readonly onSession: (session: Session | undefined) => void
}

/** All views of one cluster that the signed-in user may see. */
export const Inside = ({ root, place, session, canWrite, onRootToken, onSession }: InsideProps) => {
  const anyone = useMemo(() => apiAt(root), [root])
  const ask = useCallback((call: Call) => anyone(call, session), [anyone, session])
  const { cluster, view, item } = place
  const context = useMemo(() => {
    const onItem = (other: string) => {
      location.hash = hashOf({ cluster, view, item: other })
    }
    return { ask, session, canWrite, item, onItem }
  }, [ask, session, canWrite, cluster, view, item])
  const { view: Shown, isOpen } = viewAt(place)
  return (
    <ClusterProvider value={context}>
      <nav class="views" aria-label="Views of this cluster">
        {Object.entries(VIEWS).map(([name, { title }]) => (
          <a
            key={name}
            href={hashOf({ cluster, view: name, item: '' })}
            aria-current={VIEWS[name]?.view === Shown ? 'page' : undefined}
          >
            {title}
          </a>
        ))}
        {session && <Who session={session} onLeave={() => leave(ask, session, onSession)} />}
      </nav>
      <Gate>
        {!session && <Entrance {...{ onRootToken, onSession }} ask={anyone} isOpen={isOpen === true} />}
        {(isOpen || session) && <Shown />}
      </Gate>
    </ClusterProvider>
  )
}

/** The sign-in form. A DR secondary does not support sign-in; views that require sign-in then show a hint. */
const Entrance = ({ isOpen, ...login }: LoginProps & { readonly isOpen: boolean }) => {
  const { value, error } = useRead(get('sys/replication/status'), LOOK_MS)
  if (!value && error === '') return null
  if (textOf(partOf(partOf(value ?? {}, 'data'), 'dr'), 'mode') === 'secondary')
    return isOpen ? null : (
      <p class="hint">A DR secondary does not support sign-in. Its actions are under Replication.</p>
    )
  return <Login {...login} />
}

/** Signs out. A token that was created by this page's sign-in is revoked; a token that the user entered is not. */
const leave = (
  ask: (call: Call) => Promise<unknown>,
  { isOwn }: Session,
  onSession: InsideProps['onSession'],
): void => {
  if (isOwn) ask({ method: 'POST', path: 'auth/token/revoke-self' }).catch(() => undefined)
  onSession(undefined)
}

const Who = ({ session, onLeave }: { readonly session: Session; readonly onLeave: () => void }) => (
  <span class="who">
    {`${session.name} (${session.policies.join(', ')})${session.namespace === '' ? '' : ` in ${session.namespace}`}`}{' '}
    <Button label="Sign out" onClick={onLeave} />
  </span>
)

/** Returns the current location of the page, also after the browser's back button. */
export const useRoute = (): PageRoute | undefined => {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const look = () => setHash(location.hash)
    window.addEventListener('hashchange', look)
    return () => window.removeEventListener('hashchange', look)
  }, [])
  return parseRoute(hash)
}

import type { ComponentType } from 'preact'
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks'
import { ClusterProvider, STATUS_INTERVAL_MS, useRead } from './cluster/context.js'
import { AppRoles, Audit, Mounts, Policies, Tokens } from './cluster/core-views.js'
import { Gate } from './cluster/gate.js'
import { Kv } from './cluster/kv.js'
import { SignIn, type SignInProps } from './cluster/sign-in.js'
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

/** Returns the title of the view that a route opens. */
export const titleOf = (route: PageRoute): string => viewAt(route).title

interface ClusterPageProps {
  /** Path prefix of the cluster's API on the server of this page. Empty if that server is the cluster. */
  readonly root: string
  readonly route: PageRoute
  readonly session: Session | undefined
  readonly canWrite: boolean
  /** Requests the root token of the lab. Absent on a read-only page and on the page of a server. */
  readonly onRootToken?: SignInProps['onRootToken']
  readonly onSession: (session: Session | undefined) => void
}

/** The page of one cluster: links to its views, the sign-in form, and the open view. */
export const ClusterPage = ({ root, route, session, canWrite, onRootToken, onSession }: ClusterPageProps) => {
  const askWithoutToken = useMemo(() => apiAt(root), [root])
  const ask = useCallback((call: Call) => askWithoutToken(call, session), [askWithoutToken, session])
  const { cluster, view, item } = route
  const context = useMemo(() => {
    const openItem = (next: string) => {
      location.hash = hashOf({ cluster, view, item: next })
    }
    return { ask, session, canWrite, item, openItem }
  }, [ask, session, canWrite, cluster, view, item])
  const { view: Shown, isOpen } = viewAt(route)
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
        {session && <SignedInUser session={session} onSignOut={() => signOut(ask, session, onSession)} />}
      </nav>
      <Gate>
        {!session && <SignInArea {...{ onRootToken, onSession }} ask={askWithoutToken} isOpen={isOpen === true} />}
        {(isOpen || session) && <Shown />}
      </Gate>
    </ClusterProvider>
  )
}

/** The sign-in form. On a DR secondary, which does not support sign-in, a view that requires it gets a hint instead. */
const SignInArea = ({ isOpen, ...login }: SignInProps & { readonly isOpen: boolean }) => {
  const { value, error } = useRead(get('sys/replication/status'), STATUS_INTERVAL_MS)
  if (!value && error === '') return null
  if (textOf(partOf(partOf(value ?? {}, 'data'), 'dr'), 'mode') === 'secondary')
    return isOpen ? null : (
      <p class="hint">A DR secondary does not support sign-in. Its actions are under Replication.</p>
    )
  return <SignIn {...login} />
}

/** Ends the session. Revokes the token only if the sign-in of this page created it. */
const signOut = (
  ask: (call: Call) => Promise<unknown>,
  { isRevokedAtSignOut }: Session,
  onSession: ClusterPageProps['onSession'],
): void => {
  if (isRevokedAtSignOut) ask({ method: 'POST', path: 'auth/token/revoke-self' }).catch(() => undefined)
  onSession(undefined)
}

const SignedInUser = ({ session, onSignOut }: { readonly session: Session; readonly onSignOut: () => void }) => (
  <span class="who">
    {`${session.name} (${session.policies.join(', ')})${session.namespace === '' ? '' : ` in ${session.namespace}`}`}{' '}
    <Button label="Sign out" onClick={onSignOut} />
  </span>
)

/** Returns the route in the address of the page. Renders the caller again when the address changes. */
export const useRoute = (): PageRoute | undefined => {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const update = () => setHash(location.hash)
    window.addEventListener('hashchange', update)
    return () => window.removeEventListener('hashchange', update)
  }, [])
  return parseRoute(hash)
}

import type { ComponentType } from 'preact'
import { useCallback, useMemo } from 'preact/hooks'
import { ActButton } from './cluster/act-button.js'
import { Audit } from './cluster/audit.js'
import { apiAt } from './cluster/api.js'
import { Browse, Facts } from './cluster/browse.js'
import { type Call, get, list, partOf, textOf } from './cluster/call.js'
import { NEW_TOKEN, revokeToken } from './cluster/core-acts.js'
import { Gate } from './cluster/gate.js'
import { Kv } from './cluster/kv/kv.js'
import { Login, type LoginProps } from './cluster/login.js'
import { MeansProvider, useRead } from './cluster/means.js'
import { Mounts } from './cluster/mounts.js'
import { Policies } from './cluster/policies.js'
import { AppRoles } from './cluster/approles.js'
import { hashOf, type Place } from './cluster/place.js'
import { Replication } from './cluster/replication/replication.js'
import { END_SESSION, type Session } from './cluster/session.js'

interface View {
  readonly title: string
  readonly view: ComponentType
  /** True for a view that needs no sign-in. */
  readonly isOpen?: true
}

const lookUp = (accessor: string): Call => ({
  method: 'POST',
  path: 'auth/token/lookup-accessor',
  body: JSON.stringify({ accessor }),
})

/** The tokens of this cluster by accessor. Shows their properties, but not the tokens. */
const Tokens = () => (
  <Browse
    title="Tokens, by accessor"
    call={list('auth/token/accessors')}
    acts={(again) => <ActButton act={NEW_TOKEN} onDone={again} />}
    detail={(accessor, onGone) => (
      <>
        <Facts call={lookUp(accessor)} />
        <p class="acts">
          <ActButton act={revokeToken(accessor)} onDone={onGone} />
        </p>
      </>
    )}
  />
)

const VIEWS: Readonly<Record<string, View>> & { readonly replication: View } = {
  replication: { title: 'Replication', view: Replication, isOpen: true },
  secrets: { title: 'Secrets', view: Kv },
  mounts: { title: 'Mounts', view: Mounts },
  policies: { title: 'Policies', view: Policies },
  approles: { title: 'AppRoles', view: AppRoles },
  tokens: { title: 'Tokens', view: Tokens },
  audit: { title: 'Audit', view: Audit },
}

interface InsideProps {
  /** The API address of this cluster as seen from this page. */
  readonly root: string
  readonly place: Place
  readonly session: Session | undefined
  readonly canWrite: boolean
  readonly onSession: (session: Session | undefined) => void
}

/** All views of one cluster that the signed-in user may see. */
export const Inside = ({ root, place, session, canWrite, onSession }: InsideProps) => {
  const anyone = useMemo(() => apiAt(root), [root])
  const ask = useCallback((call: Call) => anyone(call, session), [anyone, session])
  const means = useMemo(() => ({ ask, session, canWrite }), [ask, session, canWrite])
  const { view: Shown, isOpen } = VIEWS[place.view] ?? VIEWS.replication
  return (
    <MeansProvider value={means}>
      <nav class="views" aria-label="views of this cluster">
        {Object.entries(VIEWS).map(([name, { title }]) => (
          <a
            key={name}
            href={hashOf({ ...place, view: name })}
            {...(VIEWS[name]?.view === Shown ? { 'aria-current': 'page' } : {})}
          >
            {title}
          </a>
        ))}
        {session && <Who session={session} onLeave={() => leave(ask, session, onSession)} />}
      </nav>
      <Gate>
        {!session && <Entrance ask={anyone} onSession={onSession} isOpen={isOpen === true} />}
        {(isOpen || session) && <Shown />}
      </Gate>
    </MeansProvider>
  )
}

const LOOK_MS = 2000

/** The sign-in form. DR secondaries do not support sign-in, and views without sign-in do not mention it. */
const Entrance = ({ isOpen, ...login }: LoginProps & { readonly isOpen: boolean }) => {
  const { value, error } = useRead(get('sys/replication/status'), LOOK_MS)
  if (!value && error === '') return null
  if (textOf(partOf(partOf(value ?? {}, 'data'), 'dr'), 'mode') === 'secondary')
    return isOpen ? null : (
      <p class="hint">A DR secondary accepts no login before it is promoted. Its actions are under Replication.</p>
    )
  return <Login {...login} />
}

/** Signs out. A token that was created by this page's sign-in is revoked; a token that the user entered is not. */
const leave = (
  ask: (call: Call) => Promise<unknown>,
  { isOwn }: Session,
  onSession: InsideProps['onSession'],
): void => {
  if (isOwn) ask(END_SESSION).catch(() => undefined)
  onSession(undefined)
}

const Who = ({ session, onLeave }: { readonly session: Session; readonly onLeave: () => void }) => (
  <span class="who">
    {`${session.name} (${session.policies.join(', ')})${session.namespace === '' ? '' : ` in ${session.namespace}`}`}{' '}
    <button type="button" onClick={onLeave}>
      Log out
    </button>
  </span>
)

import type { ComponentType } from 'preact'
import { useCallback, useMemo } from 'preact/hooks'
import { Audit } from './cluster/audit.js'
import { apiAt } from './cluster/api.js'
import { type Call, get, partOf, textOf } from './cluster/call.js'
import { Gate } from './cluster/gate.js'
import { Kv } from './cluster/kv/kv.js'
import { Login, type LoginProps } from './cluster/login.js'
import { MeansProvider, useRead } from './cluster/means.js'
import { Mounts } from './cluster/mounts.js'
import { Policies } from './cluster/policies.js'
import { Tokens } from './cluster/tokens.js'
import { AppRoles } from './cluster/approles.js'
import { hashOf, type Place } from './cluster/place.js'
import { Replication } from './cluster/replication/replication.js'
import { END_SESSION, type Session } from './cluster/session.js'

interface View {
  readonly title: string
  readonly view: ComponentType
  /** There for everybody. */
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

interface InsideProps {
  /** The address of the API of this cluster, as it is asked from here. */
  readonly root: string
  readonly place: Place
  readonly session: Session | undefined
  readonly canWrite: boolean
  readonly onSession: (session: Session | undefined) => void
}

/** Everything about one cluster, as whoever has logged in may see it. */
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

/** Where somebody logs in; a DR secondary lets nobody, and what is open to everybody needs no words about it. */
const Entrance = ({ isOpen, ...login }: LoginProps & { readonly isOpen: boolean }) => {
  const { value, error } = useRead(get('sys/replication/status'), LOOK_MS)
  if (!value && error === '') return null
  if (textOf(partOf(partOf(value ?? {}, 'data'), 'dr'), 'mode') === 'secondary')
    return isOpen ? null : (
      <p class="hint">
        A DR secondary lets nobody log in before it is promoted. What can be done to it is under Replication.
      </p>
    )
  return <Login {...login} />
}

/** A token that was got by logging in here is of no use to anybody any more; one that was brought along may be. */
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

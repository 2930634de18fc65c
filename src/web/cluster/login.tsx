import { useState } from 'preact/hooks'
import { type ApiAction, callOf, field, initialValues, post, required, type Values } from '../actions/action.js'
import { FieldInput } from '../actions/field-input.js'
import { type Ask, get, listOf, partOf, type Session, textOf } from '../parts/api.js'
import { Button, useTask } from '../parts/inputs.js'

/** The sign-in methods, with their names on the command line. */
type Way = 'token' | 'userpass' | 'approle'

const mountAt = (initial: string) => field('text', 'mount', 'Mount path', { initial })

/** The form of each sign-in method. A token needs no sign-in call: it is looked up. */
const WAYS: Readonly<Record<Way, ApiAction>> = {
  token: post('Token', 'auth/token/lookup-self', { fields: [required('secret', 'token', 'Token')] }),
  userpass: post('Username and password', 'auth/{mount}/login/{username}', {
    fields: [required('text', 'username', 'Username'), required('secret', 'password', 'Password'), mountAt('userpass')],
  }),
  approle: post('AppRole', 'auth/{mount}/login', {
    fields: [required('text', 'role_id', 'RoleID'), field('secret', 'secret_id', 'SecretID'), mountAt('approle')],
  }),
}

/** Signs in. Rejects with the reason if the cluster rejects the request. */
const logIn = async (ask: Ask, way: Way, values: Values): Promise<Session> => {
  const namespace = (values.namespace ?? '').trim()
  if (way === 'token') {
    const token = (values.token ?? '').trim()
    const data = partOf(await ask(get('auth/token/lookup-self'), { token, namespace }), 'data')
    const policies = listOf(data, 'policies').map(String)
    return { token, namespace, name: textOf(data, 'display_name'), policies, isOwn: false }
  }
  const auth = partOf(await ask(callOf(WAYS[way], values), { token: '', namespace }), 'auth')
  const token = textOf(auth, 'client_token')
  if (token === '') throw new Error('the response has no token: multi-factor authentication is not supported here')
  const name = textOf(partOf(auth, 'metadata'), way === 'userpass' ? 'username' : 'role_name')
  return { token, namespace, name: `${way} ${name}`, policies: listOf(auth, 'policies').map(String), isOwn: true }
}

export interface LoginProps {
  readonly ask: Ask
  readonly onSession: (session: Session) => void
  /** Asks for a root token of the lab. Absent if the user may not have it. */
  readonly onRootToken?: (() => Promise<string>) | undefined
}

const WAY = field('choice', 'method', 'Method', {
  choices: Object.entries(WAYS).map(([name, { label }]) => [name, label] as const),
})
const NAMESPACE = field('text', 'namespace', 'Namespace', { hint: 'root if empty' })

/** The sign-in form with the methods that the cluster supports. */
export const Login = ({ ask, onSession, onRootToken }: LoginProps) => {
  const [way, setWay] = useState<Way>('token')
  const [values, setValues] = useState<Values>({})
  const { problem, isBusy, run } = useTask()
  const all = { ...initialValues(WAYS[way]), ...values }
  return (
    <form
      class="login"
      autocomplete="off"
      aria-labelledby="login-title"
      onSubmit={(event) => {
        event.preventDefault()
        if (!isBusy) run(logIn(ask, way, all), onSession)
      }}
    >
      <h3 id="login-title">Sign in</h3>
      {onRootToken && (
        <p>
          <Button
            label="Sign in with the root token of the lab"
            disabled={isBusy}
            onClick={() =>
              run(
                onRootToken().then((token) => logIn(ask, 'token', { token })),
                onSession,
              )
            }
          />
        </p>
      )}
      <FieldInput
        field={WAY}
        value={way}
        onChange={(name) => {
          setWay(name as Way)
          setValues({})
        }}
      />
      {[...(WAYS[way].fields ?? []), NAMESPACE].map((one) => (
        <FieldInput
          key={`${way} ${one.name}`}
          field={one}
          value={all[one.name] ?? ''}
          onChange={(value) => setValues({ ...values, [one.name]: value })}
        />
      ))}
      <p class="buttons">
        <button type="submit" class="main" disabled={isBusy}>
          Sign in
        </button>
      </p>
      <p role="alert" class="error">
        {problem}
      </p>
      <p class="hint">The token stays in the memory of this page. Closing or reloading the page discards it.</p>
    </form>
  )
}

import { useState } from 'preact/hooks'
import { type ApiAction, callOf, field, initialValues, post, required, type Values } from '../actions/action.js'
import { FieldInput } from '../actions/field-input.js'
import { type Ask, get, listOf, partOf, type Session, textOf } from '../parts/api.js'
import { Button, useTask } from '../parts/inputs.js'

/** The sign-in methods, with the names of `vault login -method`. */
type SignInMethod = 'token' | 'userpass' | 'approle'

const mountAt = (initial: string) => field('text', 'mount', 'Mount path', { initial })

/** The form of each sign-in method. The method `token` looks the token up instead of creating one. */
const METHODS: Readonly<Record<SignInMethod, ApiAction>> = {
  token: post('Token', 'auth/token/lookup-self', { fields: [required('secret', 'token', 'Token')] }),
  userpass: post('Username and password', 'auth/{mount}/login/{username}', {
    fields: [required('text', 'username', 'Username'), required('secret', 'password', 'Password'), mountAt('userpass')],
  }),
  approle: post('AppRole', 'auth/{mount}/login', {
    fields: [required('text', 'role_id', 'RoleID'), field('secret', 'secret_id', 'SecretID'), mountAt('approle')],
  }),
}

/** Signs in. Rejects with an Error whose message can be shown to the user. */
const signIn = async (ask: Ask, method: SignInMethod, values: Values): Promise<Session> => {
  const namespace = (values.namespace ?? '').trim()
  if (method === 'token') {
    const token = (values.token ?? '').trim()
    const data = partOf(await ask(get('auth/token/lookup-self'), { token, namespace }), 'data')
    const policies = listOf(data, 'policies').map(String)
    return { token, namespace, name: textOf(data, 'display_name'), policies, isRevokedAtSignOut: false }
  }
  const auth = partOf(await ask(callOf(METHODS[method], values), { token: '', namespace }), 'auth')
  const token = textOf(auth, 'client_token')
  if (token === '')
    throw new Error(
      'the response has no token: this page does not support multi-factor authentication. Sign in with a token',
    )
  const name = textOf(partOf(auth, 'metadata'), method === 'userpass' ? 'username' : 'role_name')
  return {
    token,
    namespace,
    name: `${method} ${name}`,
    policies: listOf(auth, 'policies').map(String),
    isRevokedAtSignOut: true,
  }
}

export interface SignInProps {
  readonly ask: Ask
  readonly onSession: (session: Session) => void
  /** Requests the root token of the lab. Absent on a read-only page and on the page of a server. */
  readonly onRootToken?: (() => Promise<string>) | undefined
}

const METHOD = field('choice', 'method', 'Method', {
  choices: Object.entries(METHODS).map(([name, { label }]) => [name, label] as const),
})
const NAMESPACE = field('text', 'namespace', 'Namespace', { hint: 'root if empty' })

/** The sign-in form. It has a button for the root token if `onRootToken` is present. */
export const SignIn = ({ ask, onSession, onRootToken }: SignInProps) => {
  const [method, setMethod] = useState<SignInMethod>('token')
  const [values, setValues] = useState<Values>({})
  const { problem, isBusy, run } = useTask()
  const all = { ...initialValues(METHODS[method]), ...values }
  return (
    <form
      class="login"
      autocomplete="off"
      aria-labelledby="login-title"
      onSubmit={(event) => {
        event.preventDefault()
        if (!isBusy) run(signIn(ask, method, all), onSession)
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
                onRootToken().then((token) => signIn(ask, 'token', { token })),
                onSession,
              )
            }
          />
        </p>
      )}
      <FieldInput
        field={METHOD}
        value={method}
        onChange={(name) => {
          setMethod(name as SignInMethod)
          setValues({})
        }}
      />
      {[...(METHODS[method].fields ?? []), NAMESPACE].map((one) => (
        <FieldInput
          key={`${method} ${one.name}`}
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

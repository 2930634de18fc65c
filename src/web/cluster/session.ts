import { type Call, get, type Json, listOf, partOf, textOf } from './call.js'
import { type Act, callOf, type Values } from './acts.js'

/** The signed-in user. Kept only in the memory of the page. */
export interface Session {
  readonly token: string
  /** Empty for the root namespace. */
  readonly namespace: string
  readonly name: string
  readonly policies: readonly string[]
  /** True if this page's sign-in created the token, which is then revoked at sign-out. */
  readonly isOwn: boolean
}

/** The sign-in methods, with their names on the command line. */
export type Way = 'token' | 'userpass' | 'approle'

const MOUNT = { name: 'mount', label: 'Mounted at', kind: 'text' } as const

/** The form of each sign-in method. A token needs no sign-in call: it is looked up. */
export const WAYS: Readonly<Record<Way, Act>> = {
  token: {
    label: 'Token',
    method: 'POST',
    path: 'auth/token/lookup-self',
    fields: [{ name: 'token', label: 'Token', kind: 'secret', isRequired: true }],
  },
  userpass: {
    label: 'Username and password',
    method: 'POST',
    path: 'auth/{mount}/login/{username}',
    fields: [
      { name: 'username', label: 'Username', kind: 'text', isRequired: true },
      { name: 'password', label: 'Password', kind: 'secret', isRequired: true },
      { ...MOUNT, initial: 'userpass' },
    ],
  },
  approle: {
    label: 'AppRole',
    method: 'POST',
    path: 'auth/{mount}/login',
    fields: [
      { name: 'role_id', label: 'RoleID', kind: 'text', isRequired: true },
      { name: 'secret_id', label: 'SecretID', kind: 'secret' },
      { ...MOUNT, initial: 'approle' },
    ],
  },
}

/** Sends a request, with or without a token. */
export type Ask = (call: Call, as?: Pick<Session, 'token' | 'namespace'>) => Promise<Json>

/** Signs in. Rejects with the reason if the cluster refuses. */
export const logIn = async (ask: Ask, way: Way, values: Values): Promise<Session> => {
  const namespace = (values.namespace ?? '').trim()
  if (way === 'token') {
    const token = (values.token ?? '').trim()
    const data = partOf(await ask(get('auth/token/lookup-self'), { token, namespace }), 'data')
    const policies = listOf(data, 'policies').map(String)
    return { token, namespace, name: textOf(data, 'display_name'), policies, isOwn: false }
  }
  const auth = partOf(await ask(callOf(WAYS[way], values), { token: '', namespace }), 'auth')
  const token = textOf(auth, 'client_token')
  if (token === '') throw new Error('there was an answer without a token: a second factor is not asked for here')
  const name = textOf(partOf(auth, 'metadata'), way === 'userpass' ? 'username' : 'role_name')
  return { token, namespace, name: `${way} ${name}`, policies: listOf(auth, 'policies').map(String), isOwn: true }
}

export const END_SESSION: Call = { method: 'POST', path: 'auth/token/revoke-self' }

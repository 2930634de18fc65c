import { type ApiAction, callOf, field, post, required, type Values } from '../actions/action.js'
import { type Ask, type Call, get, listOf, partOf, type Session, textOf } from '../parts/api.js'

/** The sign-in methods, with their names on the command line. */
export type Way = 'token' | 'userpass' | 'approle'

const mountAt = (initial: string) => field('text', 'mount', 'Mounted at', { initial })

/** The form of each sign-in method. A token needs no sign-in call: it is looked up. */
export const WAYS: Readonly<Record<Way, ApiAction>> = {
  token: post('Token', 'auth/token/lookup-self', { fields: [required('secret', 'token', 'Token')] }),
  userpass: post('Username and password', 'auth/{mount}/login/{username}', {
    fields: [required('text', 'username', 'Username'), required('secret', 'password', 'Password'), mountAt('userpass')],
  }),
  approle: post('AppRole', 'auth/{mount}/login', {
    fields: [required('text', 'role_id', 'RoleID'), field('secret', 'secret_id', 'SecretID'), mountAt('approle')],
  }),
}

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

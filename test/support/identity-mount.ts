import { createSeededRandom } from '../../src/base/random.js'
import { type AliasMount, identityDirectory } from '../../src/core/identity/identity-directory.js'
import { IdentityStore } from '../../src/core/identity/identity.js'
import { createIdentityBackend } from '../../src/secrets/identity/backend.js'
import type { JsonObject } from '../../src/logical/json.js'
import type { NamespaceRef, Operation } from '../../src/logical/request.js'
import { BackendHarness, dataOf, refusal } from './backend-harness.js'

export const MOUNTS: Record<string, AliasMount> = {
  auth_approle_1: { type: 'approle', path: 'auth/approle/', namespaceId: 'root', isLocal: false },
  auth_userpass_1: { type: 'userpass', path: 'auth/userpass/', namespaceId: 'root', isLocal: false },
  auth_local_1: { type: 'approle', path: 'auth/local/', namespaceId: 'root', isLocal: true },
  auth_team_1: { type: 'approle', path: 'auth/approle/', namespaceId: 'team1', isLocal: false },
}

export const TEAM: NamespaceRef = { id: 'team1', path: 'team/' }

/**
 * Creates the identity endpoints over their own store. `mounts`: mounts by accessor. `state` may change at any time.
 */
export const makeIdentity = (mounts: Readonly<Record<string, AliasMount>> = {}) => {
  const state = { isReadOnly: false }
  let store: IdentityStore | undefined
  const harness = new BackendHarness(({ storage, clock }) => {
    store = new IdentityStore({ storage, random: createSeededRandom('identity'), clock })
    const directory = identityDirectory({
      store,
      findMount: (accessor) => mounts[accessor],
      isReadOnly: () => state.isReadOnly,
      now: () => clock.now(),
    })
    return createIdentityBackend(directory)
  })
  if (!store) throw new Error('the backend was not made')
  const made = store
  harness.storage.onChange((key) => made.invalidate(key))
  return { harness, store: made, state }
}

/** Functions that call the identity endpoints. `refused` returns the error message of a write. */
export const identityCalls = (identity: () => ReturnType<typeof makeIdentity>) => {
  const call = (operation: Operation, path: string, body: JsonObject = {}, namespace?: NamespaceRef) =>
    identity().harness.call(operation, path, body, namespace && { namespace })
  const dataFrom = async (answer: ReturnType<typeof call>) => {
    const response = await answer
    return response && (dataOf(response) as Record<string, unknown>)
  }
  const write = (path: string, body: JsonObject = {}, namespace?: NamespaceRef) =>
    dataFrom(call('update', path, body, namespace))
  const read = (path: string, namespace?: NamespaceRef) => dataFrom(call('read', path, {}, namespace))
  const refused = async (path: string, body: JsonObject, namespace?: NamespaceRef) =>
    (await refusal(write(path, body, namespace)))[1]
  return { call, write, read, refused }
}

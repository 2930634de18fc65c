import { createSeededRandom } from '../../src/base/random.js'
import { type AliasMount, identityDirectory } from '../../src/core/identity/identity-directory.js'
import { IdentityStore } from '../../src/core/identity/identity.js'
import { createIdentityBackend } from '../../src/secrets/identity/backend.js'
import { BackendHarness } from './backend-harness.js'

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

import { SHARED_SEAL_KEYS } from '../../src/storage/keys/key-families.js'
import type { Store } from '../../src/storage/store/store.js'

/** Returns the stored seal records that a cluster hands, with its root key, to a cluster that joins its set. */
export const sealRecordsOf = (store: Store): { readonly key: string; readonly value: Buffer }[] =>
  SHARED_SEAL_KEYS.flatMap((key) => {
    const value = store.get(key)
    return value === undefined ? [] : [{ key, value }]
  })

/** sys/key-status and sys/rotate: the key that encrypts new values. */
import { definePath, type PathSpec } from '../../logical/backend.js'

interface KeyringControl {
  /** Returns the active term, its start in milliseconds since the epoch, and the number of values it has encrypted. */
  status(): { readonly term: number; readonly installTimeMs: number; readonly encryptions: number }
  /** Starts a new term. Throws LogicalError `read-only` if replicated keys are not writable. */
  rotate(): Promise<void>
}

export const keyringPaths = (keyring: KeyringControl): PathSpec[] => [
  definePath({
    pattern: 'key-status',
    fields: {},
    mirror: true,
    summary: 'Tells about the encryption key in use.',
    operations: {
      read: () => {
        const { term, installTimeMs, encryptions } = keyring.status()
        return { data: { term, install_time: new Date(installTimeMs).toISOString(), encryptions } }
      },
    },
  }),
  definePath({
    pattern: 'rotate',
    fields: {},
    mirror: true,
    summary: 'Begins a new encryption key.',
    operations: {
      update: async () => {
        await keyring.rotate()
        return undefined
      },
    },
  }),
]

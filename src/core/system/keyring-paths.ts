/** sys/key-status and sys/rotate: the key that new values are encrypted with. */
import { definePath, type PathSpec } from '../../logical/backend.js'

interface KeyringControl {
  /** The active term, when it began (milliseconds since the epoch), and how many values it has encrypted. */
  status(): { readonly term: number; readonly installTimeMs: number; readonly encryptions: number }
  /** Begins a new term. LogicalError `read-only` where replicated keys may not be written. */
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

import type { DevServer } from '../../replication/host/host.js'
import type { CoreServices } from './core-services.js'
import type { ShellView } from '../parts/shell-view.js'

/** Reads and sets the root token of a -dev server, for another one that replicates with it. */
export const devServerOf = (
  { tokens }: Pick<CoreServices, 'tokens'>,
  shell: Pick<ShellView, 'devSecrets'>,
): DevServer => ({
  findRootToken() {
    const id = shell.devSecrets?.rootToken
    const entry = id === undefined ? undefined : tokens.find(id)
    return entry?.policies.includes('root') ? id : undefined
  },
  async plantRootToken(id) {
    if (!tokens.find(id)) await tokens.createRoot(id)
  },
})

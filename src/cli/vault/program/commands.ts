/** Every command there is, by name. */
import { auditCommands } from '../audit.js'
import type { Command } from '../command.js'
import { dataCommands } from '../data.js'
import { kvDeleteCommands } from '../kv/delete.js'
import { kvMetadataCommands } from '../kv/metadata.js'
import { kvReadCommands } from '../kv/read.js'
import { kvWriteCommands } from '../kv/write.js'
import { leaseCommands } from '../lease.js'
import { licenseCommands } from '../license.js'
import { loginCommands } from '../login.js'
import { authCommands } from '../mounts/auth.js'
import { secretsCommands } from '../mounts/secrets.js'
import { namespaceCommands } from '../namespace.js'
import { generateRootCommand } from '../operator/generate-root.js'
import { autopilotCommands } from '../operator/autopilot.js'
import { initCommand } from '../operator/init.js'
import { raftCommands } from '../operator/raft.js'
import { snapshotInspectCommand } from '../operator/snapshot-inspect.js'
import { rekeyCommand } from '../operator/rekey.js'
import { sealCommands } from '../operator/seal.js'
import { policyCommands } from '../policy.js'
import { refusedCommands } from '../refused.js'
import { statusCommand } from '../status.js'
import { tokenCommands } from '../token.js'
import { versionHistoryCommand } from '../version-history.js'

const ALL: readonly Command[] = [
  statusCommand,
  ...loginCommands,
  ...dataCommands,
  ...kvReadCommands,
  ...kvWriteCommands,
  ...kvDeleteCommands,
  ...kvMetadataCommands,
  ...secretsCommands,
  ...authCommands,
  ...policyCommands,
  ...auditCommands,
  ...leaseCommands,
  ...licenseCommands,
  ...namespaceCommands,
  ...tokenCommands,
  initCommand,
  ...sealCommands,
  generateRootCommand,
  rekeyCommand,
  ...raftCommands,
  snapshotInspectCommand,
  ...autopilotCommands,
  versionHistoryCommand,
  ...refusedCommands,
]

export const COMMANDS: ReadonlyMap<string, Command> = new Map(ALL.map((command) => [command.name, command]))

const WORDS: ReadonlySet<string> = new Set(['server', 'version', ...ALL.map(({ name }) => name.split(' ')[0] ?? '')])

/** Returns true if a command begins with this word. */
export const isVaultWord = (word: string): boolean => WORDS.has(word)

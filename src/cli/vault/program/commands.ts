/** All commands by name. */
import { textsOfJson } from '../../../base/json-print.js'
import { auditCommands } from '../audit.js'
import { type Command, defineCommand } from '../command.js'
import { dataCommands, found } from '../data.js'
import { flag } from '../flags.js'
import { kvDeleteCommands } from '../kv/delete.js'
import { kvMetadataCommands } from '../kv/metadata.js'
import { kvReadCommands } from '../kv/read.js'
import { kvWriteCommands } from '../kv/write.js'
import { leaseCommands } from '../lease.js'
import { loginCommands } from '../login.js'
import { authCommands } from '../mounts/auth.js'
import { secretsCommands } from '../mounts/secrets.js'
import { remoteError } from '../model/cli-error.js'
import { isMap, type JsonMap } from '../model/json-map.js'
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
import { formatTable } from '../render/columns.js'
import { goText } from '../render/go-text.js'
import { statusCommand } from '../status.js'
import { tokenCommands } from '../token.js'

const versionHistoryCommand = defineCommand({
  name: 'version-history',
  summary: 'List the versions that the cluster has run, and since when',
  run: async ({ api, out }) => {
    const query = { list: 'true' }
    const options = { query, isInRoot: true } as const
    const secret = await api.find('Error reading version history', 'GET', 'sys/version-history', options)
    const versions = textsOfJson(secret?.data?.keys)
    const info = isMap(secret?.data?.key_info) ? secret.data.key_info : {}
    if (!secret || versions.length === 0) throw remoteError('No version history found')
    if (!out.isTable) return out.secret(secret)
    const rows = versions.map((version) => [
      version,
      cell(info[version], 'timestamp_installed'),
      cell(info[version], 'build_date'),
    ])
    out.line(formatTable(['Version', 'Installation Time', 'Build Date'], rows))
    return 0
  },
})

const STATUS = 'sys/license/status'
const DR_STATUS = 'sys/replication/dr/secondary/license/status'

const licenseCommands: readonly Command[] = [
  defineCommand({
    name: 'license get',
    summary: 'Print what the server says about its licence',
    flags: { 'dr-token': flag.text('Operation token, for a DR secondary.') },
    run: async ({ api, out, flags: { 'dr-token': token } }) => {
      const path = token ? DR_STATUS : STATUS
      const options = token ? { query: { dr_operation_token: token } } : {}
      const { secret } = await api.request('Error retrieving license', 'GET', path, options)
      return out.secret(found(secret, path))
    },
  }),
]

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

const cell = (entry: JsonMap[string], key: string): string =>
  isMap(entry) && entry[key] !== undefined && entry[key] !== null ? goText(entry[key]) : ''

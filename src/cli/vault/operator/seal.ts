/** The commands status and operator unseal, seal, members, key-status, rotate and step-down. */
import { ROOT } from '../api.js'
import { type Command, command, type Session } from '../command.js'
import { flag } from '../flags.js'
import { CliError, isMap, type JsonMap, localError, textOf, VAULT_EXIT } from '../model.js'
import { formatColumns, formatPairs, formatTable, goText, presentRows, type Row } from '../text.js'

/** Exit codes of `status`, as in Vault: for a failed request, and for a sealed server. */
const REQUEST_FAILED = 1
const SEALED = 2

export const statusCommand = command('status', 'Print the seal status and the active node', async (session) => {
  const status = await readSealStatus(session).catch((error: unknown) => {
    throw error instanceof CliError ? new CliError(REQUEST_FAILED, error.message, { cause: error }) : error
  })
  await printSealStatus(session, status)
  return status.sealed === true ? SEALED : VAULT_EXIT.ok
})

export const sealCommands: readonly Command[] = [
  command(
    'operator unseal [KEY]',
    'Submit one key share (default: prompt for the key)',
    {
      reset: flag.bool('Discard the submitted shares.'),
      migrate: flag.bool('Migrate the seal; requires a pending seal migration.'),
    },
    async (session) => {
      const { api, flags, args } = session
      const body = flags.reset
        ? { reset: true }
        : { key: await readShare(session, args[0]), reset: false, migrate: flags.migrate }
      const reply = await api.request('Error unsealing', 'PUT', 'sys/unseal', { body, ...ROOT })
      return printSealStatus(session, reply.body)
    },
  ),
  command('operator seal', 'Seal the server', async ({ api, out }) => {
    await api.request('Error sealing', 'PUT', 'sys/seal', ROOT)
    return out.success('Vault is sealed.')
  }),
  command('operator step-down', 'Make the active node step down', async ({ api, out }) => {
    await api.request('Error stepping down', 'PUT', 'sys/step-down', ROOT)
    return out.success(`Stepped down: ${api.settings.address}`)
  }),
  command('operator members', 'List the nodes of the cluster', async ({ api, out }) => {
    const { secret } = await api.request('Error listing members', 'GET', 'sys/ha-status', ROOT)
    const nodes = Array.isArray(secret?.data?.nodes) ? secret.data.nodes.filter(isMap) : []
    return out.value(secret?.data ?? {}, () => formatTable(MEMBER_COLUMNS, nodes.map(memberRow)))
  }),
  command('operator key-status', 'Print the state of the encryption key', (session) => printKeyStatus(session)),
  command('operator rotate', 'Rotate the encryption key', async (session) => {
    await session.api.request('Error rotating key', 'PUT', 'sys/rotate', ROOT)
    session.out.success('Rotated key\n')
    return printKeyStatus(session)
  }),
]

/**
 * Reads a key share from the command line, from standard input (`-`), or from a prompt. Rejects with a local error if a
 * prompt is required but disabled.
 */
const readShare = async (
  { io, isInteractive }: Session,
  given: string | undefined,
  prompt = 'Unseal Key (will be hidden): ',
): Promise<string> => {
  if (given === undefined && !isInteractive)
    throw localError('-non-interactive disables the prompt: specify the key as an argument, or - for standard input')
  const text = given === '-' ? (await io.readStdin()).toString('utf8') : (given ?? (await io.ask(prompt)))
  if (text.trim() === '') throw localError('A key must be supplied')
  return text.trim()
}

/**
 * Submits one key share to an attempt. `titles` are the names of the nonce and of the share in the prompt. Resolves to
 * the response body. Rejects with a local error if the share comes from standard input without -nonce.
 */
export const provideShare = async (
  call: Session & { readonly args: readonly string[]; readonly flags: { readonly nonce: string } },
  path: string,
  attempt: JsonMap,
  titles: { readonly nonce: string; readonly key: string },
): Promise<JsonMap> => {
  const [given] = call.args
  if (given === '-' && call.flags.nonce === '') {
    throw localError('-nonce is required if the key comes from standard input')
  }
  const nonce = call.flags.nonce || textOf(attempt.nonce)
  const key = await readShare(call, given, `${titles.nonce}: ${nonce}\n${titles.key} (will be hidden): `)
  return (await call.api.request('Error posting unseal key', 'PUT', path, { body: { key, nonce }, ...ROOT })).body
}

const MEMBER_COLUMNS = ['Host Name', 'API Address', 'Cluster Address', 'Active Node', 'Version', 'Last Echo']
const MEMBER_FIELDS = ['hostname', 'api_address', 'cluster_address', 'active_node', 'version', 'last_echo']

const memberRow = (node: JsonMap): Row => MEMBER_FIELDS.map((name) => goText(node[name] ?? ''))

const printKeyStatus = async ({ api, out }: Session): Promise<number> => {
  const { secret } = await api.request('Error reading key status', 'GET', 'sys/key-status', ROOT)
  const { term, install_time: installTime, encryptions } = secret?.data ?? {}
  return out.record({ term, install_time: installTime, encryptions }, () =>
    formatColumns([
      ['Key Term', goText(term)],
      ['Install Time', goText(installTime)],
      ['Encryption Count', goText(encryptions)],
    ]),
  )
}

export const readSealStatus = async ({ api }: Session): Promise<JsonMap> =>
  (await api.request('Error checking seal status', 'GET', 'sys/seal-status', ROOT)).body

/**
 * Prints the seal status and the HA status. If the server does not report its HA status because it is sealed, a default
 * is printed.
 */
const printSealStatus = async ({ api, out }: Session, status: JsonMap): Promise<number> => {
  const options = { ...ROOT, isRetried: false, expected: [400, 503] } as const
  const reply = await api.request('Error checking leader status', 'GET', 'sys/leader', options)
  const leader = reply.status === 200 ? reply.body : { ha_enabled: true, active_time: '0001-01-01T00:00:00Z' }
  return out.record({ ...status, ...leader }, () => formatPairs([...sealRows(status), ...leaderRows(status, leader)]))
}

const sealRows = (status: JsonMap): Row[] => {
  const prefix = status.recovery_seal === true ? 'Recovery ' : ''
  const isSealed = status.sealed === true
  return [
    ['Seal Type', goText(status.type)],
    ...(prefix ? [['Recovery Seal Type', textOf(status.recovery_seal_type) || 'shamir']] : []),
    ['Initialized', goText(status.initialized)],
    ['Sealed', goText(status.sealed)],
    [`Total ${prefix}Shares`, goText(status.n)],
    ['Threshold', goText(status.t)],
    ...(isSealed
      ? [
          ['Unseal Progress', `${goText(status.progress)}/${goText(status.t)}`],
          ['Unseal Nonce', textOf(status.nonce)],
        ]
      : []),
    ...(status.migration === true ? [['Seal Migration in Progress', 'true']] : []),
    ['Version', textOf(status.version)],
    ['Build Date', textOf(status.build_date)],
    ['Storage Type', textOf(status.storage_type)],
    ...presentRows(status, { cluster_name: 'Cluster Name', cluster_id: 'Cluster ID' }),
    ...(status.removed_from_cluster === true ? [['Removed From Cluster', 'true']] : []),
  ]
}

const leaderRows = (status: JsonMap, leader: JsonMap): Row[] => {
  const enabled: Row = ['HA Enabled', goText(leader.ha_enabled)]
  if (leader.ha_enabled !== true || status.sealed === true) return [enabled]
  const isActive = leader.is_self === true
  return [
    enabled,
    ['HA Cluster', textOf(leader.leader_cluster_address) || '<none>'],
    ['HA Mode', isActive ? 'active' : 'standby'],
    ...(isActive && leader.active_time ? [['Active Since', textOf(leader.active_time)]] : []),
    ...(isActive ? [] : [['Active Node Address', textOf(leader.leader_address) || '<none>']]),
    ...(leader.performance_standby === true
      ? [
          ['Performance Standby Node', 'true'],
          ['Performance Standby Last Remote WAL', goText(leader.performance_standby_last_remote_wal ?? 0)],
        ]
      : []),
    ...presentRows(leader, OPTIONAL_ROWS),
  ]
}

const OPTIONAL_ROWS = {
  raft_committed_index: 'Raft Committed Index',
  raft_applied_index: 'Raft Applied Index',
  last_wal: 'Last WAL',
} as const

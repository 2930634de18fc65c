/** The commands of audit, lease, license and namespace, and version-history. */
import { textsOfJson } from '../../base/json-print.js'
import { type Command, command } from './command.js'
import { LIST, ROOT } from './api.js'
import { found } from './data.js'
import { DETAILED_FLAG, DR_FLAG, drQuery, flag, INCREMENT_FLAG } from './flags.js'
import { isMap, localError, remoteError } from './model.js'
import { printListing } from './output.js'
import { cellOf, type Column, formatObjects, goText, REPLICATION } from './text.js'
import { cleanPath, readData } from './values.js'

const METADATA_FLAG = { 'custom-metadata': flag.pairs('Custom metadata as key=value; may be repeated.') } as const

export const systemCommands: readonly Command[] = [
  command(
    'audit enable TYPE [K=V...]',
    'Enable an audit device',
    {
      path: flag.text('Path of the device. Default: its type.'),
      description: flag.text('Description for operators.'),
      local: flag.bool('Exclude the device from performance replication.'),
    },
    async ({ api, out, io, args: [type = '', ...pairs], flags }) => {
      const path = cleanPath(flags.path || type)
      const options = await readData(pairs, io)
      const body = { type, description: flags.description, options, local: flags.local }
      await api.request('Error enabling audit device', 'PUT', `sys/audit/${path}`, { body })
      return out.success(`Enabled the ${type} audit device at: ${path}/`)
    },
  ),
  command('audit list', 'List audit devices', DETAILED_FLAG, async ({ api, out, flags }) => {
    const { secret } = await api.request('Error listing audits', 'GET', 'sys/audit')
    const devices = secret?.data ?? {}
    if (Object.keys(devices).length === 0 && out.isTable) throw remoteError('No audit devices are enabled.')
    return out.value(devices, () => formatObjects('Path', devices, flags.detailed ? DETAILED : BRIEF))
  }),
  command('audit disable PATH', 'Disable an audit device', async ({ api, out, at }) => {
    await api.request('Error disabling audit device', 'DELETE', `sys/audit/${at}`)
    return out.success(`Disabled audit device (if it was enabled) at: ${at}/`)
  }),
  command('lease lookup ID', 'Look up a lease', async ({ api, out, at, args: [id = ''] }) => {
    const body = { lease_id: at }
    const { secret } = await api.request(`error looking up lease id ${id}`, 'PUT', 'sys/leases/lookup', { body })
    return out.secret(found(secret, id))
  }),
  command('lease renew ID', 'Renew a lease', INCREMENT_FLAG, async ({ api, out, at, args: [id = ''], flags }) => {
    const body = { lease_id: at, increment: flags.increment ?? 0 }
    const { secret } = await api.request(`Error renewing ${id}`, 'PUT', 'sys/leases/renew', { body })
    return out.secret(found(secret, id))
  }),
  command(
    'lease revoke ID',
    'Revoke a lease, or with -prefix all leases below a path',
    {
      prefix: flag.bool('The argument is a path: revoke all leases below it.'),
      force: flag.bool('Remove leases even if their backend fails; requires -prefix.', { aliases: ['f'] }),
      sync: flag.bool('Wait until the leases are revoked.'),
    },
    async ({ api, out, at: id, flags }) => {
      const { force, prefix, sync } = flags
      if (force && !prefix) throw localError('Specifying -force requires also specifying -prefix')
      const path = !prefix ? 'sys/leases/revoke' : `sys/leases/revoke-${force ? 'force' : 'prefix'}/${id}`
      const body = prefix ? { sync } : { lease_id: id, sync }
      const what = prefix ? `Error revoking leases with prefix ${id}` : `Error revoking lease ${id}`
      await api.request(what, 'PUT', path, { body })
      if (!sync && !force) {
        if (out.isTable) out.line('All revocation operations queued successfully!')
        return 0
      }
      return out.success(prefix ? `Revoked any leases with prefix: ${id}` : `Revoked lease: ${id}`)
    },
  ),
  command('license get', 'Print the license status', DR_FLAG, async ({ api, out, flags }) => {
    const path = `sys/${flags['dr-token'] ? 'replication/dr/secondary/' : ''}license/status`
    const { secret } = await api.request('Error retrieving license', 'GET', path, drQuery(flags))
    return out.secret(found(secret, path))
  }),
  command('namespace create PATH', 'Create a child namespace', METADATA_FLAG, async ({ api, out, at, flags }) => {
    const body = { custom_metadata: flags['custom-metadata'] }
    const { secret } = await api.request('Error creating namespace', 'PUT', `sys/namespaces/${at}`, { body })
    return out.secret(found(secret, at))
  }),
  command(
    'namespace patch PATH',
    'Patch the metadata of a namespace',
    { ...METADATA_FLAG, 'remove-custom-metadata': flag.texts('Key to remove; may be repeated.') },
    async ({ api, out, at, flags }) => {
      const removed = Object.fromEntries(flags['remove-custom-metadata'].map((key) => [key, null]))
      const body = { custom_metadata: { ...flags['custom-metadata'], ...removed } }
      const { secret } = await api.request('Error patching namespace', 'PATCH', `sys/namespaces/${at}`, { body })
      return out.secret(found(secret, at))
    },
  ),
  command(
    'namespace list',
    'List the child namespaces',
    { detailed: flag.bool('Show the metadata of each namespace.') },
    async ({ api, out, flags }) => {
      const secret = await api.find('Error listing namespaces', 'GET', 'sys/namespaces', LIST)
      return printListing(out, secret, 'sys/namespaces', flags.detailed)
    },
  ),
  command('namespace lookup PATH', 'Look up a namespace', async ({ api, out, at }) => {
    const secret = await api.find('Error looking up namespace', 'GET', `sys/namespaces/${at}`)
    return out.secret(found(secret, `sys/namespaces/${at}`))
  }),
  command('namespace delete PATH', 'Delete a namespace and its data', async ({ api, out, at }) => {
    const { secret } = await api.request('Error deleting namespace', 'DELETE', `sys/namespaces/${at}`)
    return out.success(`Namespace deleted at: ${at}/`, secret)
  }),
]

export const versionHistoryCommand = command(
  'version-history',
  'List the versions that the cluster has run',
  async ({ api, out }) => {
    const secret = await api.find('Error reading version history', 'GET', 'sys/version-history', { ...LIST, ...ROOT })
    const versions = textsOfJson(secret?.data?.keys)
    const info = isMap(secret?.data?.key_info) ? secret.data.key_info : {}
    if (!secret || versions.length === 0) throw remoteError('No version history found')
    if (!out.isTable) return out.secret(secret)
    return out.value(info, () => formatObjects('Version', info, VERSION, versions))
  },
)

const VERSION: readonly Column[] = [
  ['Installation Time', cellOf('timestamp_installed')],
  ['Build Date', cellOf('build_date')],
]

const BRIEF: readonly Column[] = [
  ['Type', cellOf('type')],
  ['Description', cellOf('description')],
]

const DETAILED: readonly Column[] = [...BRIEF, REPLICATION, ['Options', ({ options }) => pairsOf(options)]]

const pairsOf = (options: unknown): string =>
  isMap(options)
    ? Object.keys(options)
        .sort()
        .map((key) => `${key}=${goText(options[key])}`)
        .join(' ')
    : ''

/** audit, lease, license, namespace and version-history. */
import { textsOfJson } from '../../base/json-print.js'
import { type Command, defineCommand } from './command.js'
import { found } from './data.js'
import { DR_FLAG, drQuery, flag } from './flags.js'
import { isMap, type JsonMap, localError, remoteError, textOf } from './model.js'
import { printListing } from './output.js'
import { formatTable, goText, type Row } from './text.js'
import { cleanPath, readData } from './values.js'

const METADATA_FLAG = { 'custom-metadata': flag.pairs('key=value to keep with it; may be repeated.') } as const

export const systemCommands: readonly Command[] = [
  defineCommand('audit enable TYPE [K=V...]', {
    summary: 'Enable an audit device',
    flags: {
      path: flag.text('Name of the device; its type when not given.'),
      description: flag.text('A text for people.'),
      local: flag.bool('Keep the device out of performance replication.'),
    },
    run: async ({ api, out, io, args: [type = '', ...pairs], flags }) => {
      const path = cleanPath(flags.path || type)
      const options = await readData(pairs, io)
      const body = { type, description: flags.description, options, local: flags.local }
      await api.request('Error enabling audit device', 'PUT', `sys/audit/${path}`, { body })
      return out.success(`Enabled the ${type} audit device at: ${path}/`)
    },
  }),
  defineCommand('audit list', {
    summary: 'List audit devices',
    flags: { detailed: flag.bool('Show all settings.') },
    run: async ({ api, out, flags }) => {
      const { secret } = await api.request('Error listing audits', 'GET', 'sys/audit')
      const devices = secret?.data ?? {}
      if (Object.keys(devices).length === 0 && out.isTable) throw remoteError('No audit devices are enabled.')
      return out.value(devices, () => formatDevices(devices, flags.detailed))
    },
  }),
  defineCommand('audit disable PATH', {
    summary: 'Disable an audit device',
    run: async ({ api, out, at }) => {
      await api.request('Error disabling audit device', 'DELETE', `sys/audit/${at}`)
      return out.success(`Disabled audit device (if it was enabled) at: ${at}/`)
    },
  }),
  defineCommand('lease lookup ID', {
    summary: 'Look up a lease',
    run: async ({ api, out, at, args: [id = ''] }) => {
      const body = { lease_id: at }
      const { secret } = await api.request(`error looking up lease id ${id}`, 'PUT', 'sys/leases/lookup', { body })
      return out.secret(found(secret, id))
    },
  }),
  defineCommand('lease renew ID', {
    summary: 'Renew a lease',
    flags: { increment: flag.duration('How much longer.', { aliases: ['i'] }) },
    run: async ({ api, out, at, args: [id = ''], flags }) => {
      const body = { lease_id: at, increment: flags.increment ?? 0 }
      const { secret } = await api.request(`Error renewing ${id}`, 'PUT', 'sys/leases/renew', { body })
      return out.secret(found(secret, id))
    },
  }),
  defineCommand('lease revoke ID', {
    summary: 'Revoke a lease, or with -prefix all leases below a path',
    flags: {
      prefix: flag.bool('The argument is a path; all leases below it end.'),
      force: flag.bool('Forget leases even where their backend fails; with -prefix only.', { aliases: ['f'] }),
      sync: flag.bool('Wait until the leases are ended.'),
    },
    run: async ({ api, out, at: id, flags }) => {
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
  }),
  defineCommand('license get', {
    summary: 'Print the license status',
    flags: DR_FLAG,
    run: async ({ api, out, flags }) => {
      const path = `sys/${flags['dr-token'] ? 'replication/dr/secondary/' : ''}license/status`
      const { secret } = await api.request('Error retrieving license', 'GET', path, drQuery(flags))
      return out.secret(found(secret, path))
    },
  }),
  defineCommand('namespace create PATH', {
    summary: 'Create a child namespace',
    flags: METADATA_FLAG,
    run: async ({ api, out, at, flags }) => {
      const body = { custom_metadata: flags['custom-metadata'] }
      const { secret } = await api.request('Error creating namespace', 'PUT', `sys/namespaces/${at}`, { body })
      return out.secret(found(secret, at))
    },
  }),
  defineCommand('namespace patch PATH', {
    summary: 'Patch the metadata of a namespace',
    flags: { ...METADATA_FLAG, 'remove-custom-metadata': flag.texts('Key to take away; may be repeated.') },
    run: async ({ api, out, at, flags }) => {
      const removed = Object.fromEntries(flags['remove-custom-metadata'].map((key) => [key, null]))
      const body = { custom_metadata: { ...flags['custom-metadata'], ...removed } }
      const { secret } = await api.request('Error patching namespace', 'PATCH', `sys/namespaces/${at}`, { body })
      return out.secret(found(secret, at))
    },
  }),
  defineCommand('namespace list', {
    summary: 'List the child namespaces',
    flags: { detailed: flag.bool('Show what is kept with each.') },
    run: async ({ api, out, flags }) => {
      const query = { list: 'true' }
      const secret = await api.find('Error listing namespaces', 'GET', 'sys/namespaces', { query })
      return printListing(out, secret, 'sys/namespaces', flags.detailed)
    },
  }),
  defineCommand('namespace lookup PATH', {
    summary: 'Look up a namespace',
    run: async ({ api, out, at }) => {
      const secret = await api.find('Error looking up namespace', 'GET', `sys/namespaces/${at}`)
      return out.secret(found(secret, `sys/namespaces/${at}`))
    },
  }),
  defineCommand('namespace delete PATH', {
    summary: 'Delete a namespace and its data',
    run: async ({ api, out, at }) => {
      const { secret } = await api.request('Error deleting namespace', 'DELETE', `sys/namespaces/${at}`)
      return out.success(`Namespace deleted at: ${at}/`, secret)
    },
  }),
]

export const versionHistoryCommand = defineCommand('version-history', {
  summary: 'List the versions that the cluster has run, with dates',
  run: async ({ api, out }) => {
    const options = { query: { list: 'true' }, isInRoot: true } as const
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

const formatDevices = (devices: JsonMap, isDetailed: boolean): string => {
  const rows = Object.keys(devices)
    .sort()
    .map((path): Row => {
      const device = devices[path]
      const { type, description, local, options } = isMap(device) ? device : {}
      const brief = [path, textOf(type), textOf(description)]
      return isDetailed ? [...brief, local === true ? 'local' : 'replicated', pairsOf(options)] : brief
    })
  return formatTable(['Path', 'Type', 'Description', ...(isDetailed ? ['Replication', 'Options'] : [])], rows)
}

const pairsOf = (options: unknown): string =>
  isMap(options)
    ? Object.keys(options)
        .sort()
        .map((key) => `${key}=${goText(options[key])}`)
        .join(' ')
    : ''

const cell = (entry: JsonMap[string], key: string): string =>
  isMap(entry) && entry[key] !== undefined && entry[key] !== null ? goText(entry[key]) : ''

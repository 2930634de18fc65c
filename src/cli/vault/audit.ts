import { ANY, type Command, defineCommand } from './command.js'
import { remoteError } from './model/cli-error.js'
import { isMap, type JsonMap } from './model/json-map.js'
import { flag } from './flags.js'
import { formatTable, type Row } from './render/columns.js'
import { goText } from './render/go-text.js'
import { textOf } from './model/secret.js'
import { cleanPath, readData } from './values.js'

export const auditCommands: readonly Command[] = [
  defineCommand({
    name: 'audit enable',
    takes: 'TYPE [K=V...]',
    count: [1, ANY],
    summary: 'Start an audit device',
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
  defineCommand({
    name: 'audit list',
    summary: 'List audit devices',
    flags: { detailed: flag.bool('Show all settings.') },
    run: async ({ api, out, flags }) => {
      const { secret } = await api.request('Error listing audits', 'GET', 'sys/audit')
      const devices = secret?.data ?? {}
      if (Object.keys(devices).length === 0 && out.isTable) throw remoteError('No audit devices are enabled.')
      return out.value(devices, () => formatDevices(devices, flags.detailed))
    },
  }),
  defineCommand({
    name: 'audit disable',
    takes: 'PATH',
    count: [1, 1],
    summary: 'Stop an audit device',
    run: async ({ api, out, args: [path = ''] }) => {
      const at = cleanPath(path)
      await api.request('Error disabling audit device', 'DELETE', `sys/audit/${at}`)
      return out.success(`Disabled audit device (if it was enabled) at: ${at}/`)
    },
  }),
]

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

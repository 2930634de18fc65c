import { textsOfJson } from '../../base/json-print.js'
import { defineCommand } from './command.js'
import { remoteError } from './model/cli-error.js'
import { isMap, type JsonMap } from './model/json-map.js'
import { formatTable } from './render/columns.js'
import { goText } from './render/go-text.js'

export const versionHistoryCommand = defineCommand({
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

const cell = (entry: JsonMap[string], key: string): string =>
  isMap(entry) && entry[key] !== undefined && entry[key] !== null ? goText(entry[key]) : ''

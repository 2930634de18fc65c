/** Responses to LIST: the keys alone, or with the details of `key_info`. */
import { textsOfJson } from '../../../base/json-print.js'
import { isMap } from '../model/json-map.js'
import type { Secret } from '../model/secret.js'
import { formatTable } from './columns.js'
import { goText } from './go-text.js'
import type { Output } from './output.js'

export const printListing = (out: Output, secret: Secret | undefined, at: string, isDetailed = false): number => {
  if (secret?.wrapInfo || (secret && out.format === 'raw')) return out.secret(secret)
  const keys = Array.isArray(secret?.data?.keys) ? secret.data.keys : undefined
  if (secret && out.isTable) out.warn(secret)
  const info = secret?.data?.key_info
  if (!isDetailed || !keys || !isMap(info)) return out.keys(keys, at)
  const columns = [...new Set(Object.values(info).flatMap((item) => (isMap(item) ? Object.keys(item) : [])))].sort()
  return out.value(secret?.data, () =>
    formatTable(
      ['Keys', ...columns],
      textsOfJson(keys).map((key) => {
        const item = info[key]
        return [
          key,
          ...columns.map((column) => (isMap(item) && item[column] !== undefined ? goText(item[column]) : '')),
        ]
      }),
    ),
  )
}

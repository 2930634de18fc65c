/** Finds the mount of a path for `kv` commands, and prints the tables of KV v2. */
import { largestOf } from '../../../base/extremes.js'
import type { Call, Session } from '../command.js'
import { readAt } from '../data.js'
import { flag } from '../flags.js'
import { isMap, localError, type Secret, textOf } from '../model.js'
import { dataRows, type Output } from '../output.js'
import { formatPairs, formatTitle } from '../text.js'
import { cleanPath } from '../values.js'

export const MOUNT_FLAG = {
  mount: flag.text('Mount of the path. Default: the path begins with the mount.'),
} as const

interface KvTarget {
  readonly isV2: boolean
  /**
   * Returns the request path. On a v2 mount, `part` (`data`, `metadata`, …) follows the mount path. On a v1 mount,
   * `part` is omitted.
   */
  at(part: string): string
}

/**
 * Finds the mount of the path by a request to the server. If the server does not support this request (404), the mount
 * counts as KV v1. `needsV2` is the flag or command that requires KV v2, and is used in the error text. Rejects with a
 * local error if `needsV2` is set and the mount is not KV v2.
 */
export const findTarget = async (
  { api, at: path, flags: { mount: mountFlag } }: Call<typeof MOUNT_FLAG>,
  needsV2?: string,
): Promise<KvTarget> => {
  const requestedPath = cleanPath(mountFlag || path)
  const { status, secret } = await api.request(
    `Error making preflight request for ${requestedPath}`,
    'GET',
    `sys/internal/ui/mounts/${requestedPath}`,
    { isPreliminary: true, expected: [404] },
  )
  const mount = cleanPath(status === 404 ? mountFlag : textOf(secret?.data?.path))
  const options = secret?.data?.options
  const isV2 = status !== 404 && isMap(options) && options.version === '2'
  if (needsV2 !== undefined && !isV2) throw localError(`${needsV2} requires a KV version 2 mount`)
  const isBelow = !mountFlag && `${path}/`.startsWith(`${mount}/`)
  const key = cleanPath(isBelow ? path.slice(mount.length) : path)
  return { isV2, at: (part) => [mount, isV2 ? part : '', key].filter(Boolean).join('/') }
}

/** Reads a version of a secret. Default: the newest. `data` is undefined if the version is deleted or destroyed. */
export const readVersion = async (call: Session, target: KvTarget, version?: number) => {
  const query = version === undefined ? {} : { version: String(version) }
  const secret = await readAt(call, target.at('data'), { query, isPreliminary: true })
  const { data, metadata } = secret.data ?? {}
  return { data: isMap(data) ? data : undefined, version: isMap(metadata) ? metadata.version : 0 }
}

/** Width of the title of a section without its longest key: four spaces and the word `Value`. */
const COLUMNS_BESIDES_KEY = 9

/**
 * Prints a path, followed by each section that is an object, with its title. With another format than `table`, with
 * `-field`, and for a wrapped response, prints the response instead.
 */
export const printSections = (
  out: Output,
  secret: Secret,
  [pathTitle, at]: readonly [title: string, path: string],
  sections: readonly (readonly [title: string, data: unknown])[],
): number => {
  if (!out.isTable || out.field !== '' || secret.wrapInfo) return out.secret(secret)
  out.warn(secret)
  out.line(`${formatTitle(pathTitle, at.length)}\n${at}\n`)
  const texts = sections.flatMap(([title, data]) => {
    if (!isMap(data)) return []
    const width =
      largestOf(
        Object.keys(data).map((key) => key.length),
        0,
      ) + COLUMNS_BESIDES_KEY
    return [`${formatTitle(title, width)}\n${formatPairs(dataRows(data))}`]
  })
  if (texts.length > 0) out.line(texts.join('\n\n'))
  return 0
}

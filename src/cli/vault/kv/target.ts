/** Which mount a path of `kv` commands lies on, and which version of KV that mount speaks. */
import { localError } from '../model/cli-error.js'
import type { Session } from '../command.js'
import { isMap } from '../model/json-map.js'
import { flag } from '../flags.js'
import { textOf } from '../model/secret.js'
import { cleanPath } from '../values.js'

export const MOUNT_FLAG = {
  mount: flag.text('Mount that the path is relative to; without it the path begins with the mount.'),
} as const

export interface KvTarget {
  readonly isV2: boolean
  /** Path below the mount; empty for the mount itself. */
  readonly key: string
  /** Returns the request path: with the infix of a v2 mount (`data`, `metadata`, ...), or unchanged on v1. */
  at(part: string): string
}

/**
 * Queries the server for the mount first, like every `kv` command. If the server does not support this request, it has
 * KV v1.
 */
export const findTarget = async ({ api }: Session, path: string, mountFlag: string): Promise<KvTarget> => {
  const asked = cleanPath(mountFlag || path)
  const { status, secret } = await api.request(
    `Error making preflight request for ${asked}`,
    'GET',
    `sys/internal/ui/mounts/${asked}`,
    { isPreliminary: true, expected: [404] },
  )
  const mount = status === 404 ? cleanPath(mountFlag) : cleanPath(textOf(secret?.data?.path))
  const options = secret?.data?.options
  const isV2 = status !== 404 && isMap(options) && options.version === '2'
  const key = cleanPath(mountFlag ? path : relative(cleanPath(path), mount))
  const join = (...parts: string[]) => parts.filter(Boolean).join('/')
  return { isV2, key, at: (part) => (isV2 ? join(mount, part, key) : join(mount, key)) }
}

const relative = (path: string, mount: string): string =>
  path === mount ? '' : path.startsWith(`${mount}/`) ? path.slice(mount.length + 1) : path

/** Throws unless the mount is KV v2. */
export const requireV2 = (target: KvTarget, what: string): void => {
  if (!target.isV2) throw localError(`${what} needs a K/V engine mount of version 2`)
}

import { ANY, type Call, type Command, defineCommand, type Session } from '../command.js'
import { localError } from '../model/cli-error.js'
import { found, printWritten } from '../data.js'
import { isMap, type JsonMap } from '../model/json-map.js'
import { flag } from '../flags.js'
import { readData } from '../values.js'
import { findTarget, type KvTarget, MOUNT_FLAG, requireV2 } from './target.js'
import { printVersion } from './print.js'

const CAS_FLAG = { cas: flag.int('Write only if this is the newest version; 0 if there is none.') } as const

const PATCH_FLAGS = {
  ...MOUNT_FLAG,
  ...CAS_FLAG,
  method: flag.text('patch, or rw to read, change and write; without it the second when the first is refused.'),
  'remove-data': flag.texts('Key to take away; may be repeated.'),
} as const

/** Error statuses of PATCH after which a read and a write are tried: no capability, or no such method. */
const NO_PATCH = [403, 405]

const casOption = (cas: number | undefined): JsonMap => (cas === undefined || cas < 0 ? {} : { cas })

export const kvWriteCommands: readonly Command[] = [
  defineCommand({
    name: 'kv put',
    takes: 'PATH [DATA K=V...]',
    count: [1, ANY],
    summary: 'Write a secret; on KV v2 as a new version',
    flags: { ...MOUNT_FLAG, ...CAS_FLAG },
    run: async ({ args: [path = '', ...pairs], flags, ...call }) => {
      const { api, out, io } = call
      if (pairs.length === 0) throw localError('Must supply data')
      const data = await readData(pairs, io)
      const target = await findTarget(call, path, flags.mount)
      const at = target.at('data')
      const body = target.isV2 ? { data, options: casOption(flags.cas) } : data
      const reply = await api.request(`Error writing data to ${at}`, 'PUT', at, { body })
      if (target.isV2 && reply.secret) return printVersion(out, reply.secret, at)
      return printWritten(out, reply, `Data written to: ${at}`)
    },
  }),
  defineCommand({
    name: 'kv patch',
    takes: 'PATH [DATA K=V...]',
    count: [1, ANY],
    summary: 'Change some keys of a secret',
    flags: PATCH_FLAGS,
    run: patchSecret,
  }),
  defineCommand({
    name: 'kv rollback',
    takes: 'PATH',
    count: [1, 1],
    summary: 'Write an older version of a secret again, as the newest',
    flags: { ...MOUNT_FLAG, version: flag.int('Version to go back to.') },
    run: async ({ args: [path = ''], flags, ...call }) => {
      const { api, out } = call
      const { version } = flags
      if (!version || version < 0) throw localError('-version is needed, and is 1 or more')
      const target = await findTarget(call, path, flags.mount)
      requireV2(target, 'rollback')
      const at = target.at('data')
      const current = await readVersion(call, target)
      const wanted = await readVersion(call, target, version)
      if (!wanted.data) throw localError(`version ${version} is deleted or destroyed and cannot be rolled back to`)
      const body = { data: wanted.data, options: { cas: current.version } }
      const { secret } = await api.request(`Error writing data to ${at}`, 'PUT', at, { body })
      return printVersion(out, found(secret, at), at)
    },
  }),
]

async function patchSecret({ args: [path = '', ...pairs], flags, ...call }: Call<typeof PATCH_FLAGS>): Promise<number> {
  const { api, out, io } = call
  if (!['', 'patch', 'rw'].includes(flags.method)) throw localError(`-method is patch or rw, not ${flags.method}`)
  const removed = Object.fromEntries(flags['remove-data'].map((key) => [key, null]))
  if (pairs.length === 0 && Object.keys(removed).length === 0) throw localError('Must supply data')
  const changes = { ...(await readData(pairs, io)), ...removed }
  const target = await findTarget(call, path, flags.mount)
  requireV2(target, 'patch')
  const at = target.at('data')
  if (flags.method !== 'rw') {
    const reply = await api.request(`Error patching ${at}`, 'PATCH', at, {
      body: { data: changes, options: casOption(flags.cas) },
      ...(flags.method === '' && { expected: NO_PATCH }),
    })
    if (!NO_PATCH.includes(reply.status)) return printVersion(out, found(reply.secret, at), at)
  }
  const current = await readVersion(call, target)
  if (!current.data) throw localError(`No value found at ${at}; there is nothing to change`)
  const data = Object.fromEntries(Object.entries({ ...current.data, ...changes }).filter(([, value]) => value !== null))
  const body = { data, options: { cas: flags.cas ?? current.version } }
  const { secret } = await api.request(`Error writing data to ${at}`, 'PUT', at, { body })
  return printVersion(out, found(secret, at), at)
}

interface ReadVersion {
  /** Undefined if the version is deleted or destroyed. */
  readonly data: JsonMap | undefined
  readonly version: unknown
}

const readVersion = async ({ api }: Session, target: KvTarget, version?: number): Promise<ReadVersion> => {
  const at = target.at('data')
  const query = version === undefined ? {} : { version: String(version) }
  const options = { query, isPreliminary: true }
  const secret = found(await api.find(`Error reading ${at}`, 'GET', at, options), at)
  const { data, metadata } = secret.data ?? {}
  return { data: isMap(data) ? data : undefined, version: isMap(metadata) ? metadata.version : 0 }
}

import { type Call, type Command, command, givenFields } from '../command.js'
import { found, listAt, readAt, writeAt } from '../data.js'
import { flag } from '../flags.js'
import { isMap, type JsonMap, localError, remoteError, type Secret } from '../model.js'
import { readData } from '../values.js'
import { findTarget, MOUNT_FLAG, printSections, readVersion } from './mount.js'

const VERSIONS_FLAGS = {
  ...MOUNT_FLAG,
  versions: flag.list('Version numbers, separated by commas; may be repeated.'),
} as const

const PUT_FLAGS = {
  ...MOUNT_FLAG,
  cas: flag.int('Write only if this is the newest version; 0: only if no version exists.'),
} as const

const PATCH_FLAGS = {
  ...PUT_FLAGS,
  method: flag.text('patch, or rw (read, change and write). Default: patch, and rw if the server rejects patch.'),
  'remove-data': flag.texts('Key to remove; may be repeated.'),
} as const

const SETTING_FLAGS = {
  'max-versions': flag.int('Maximum number of versions.'),
  'cas-required': flag.bool('Require every write to name the version that it replaces.'),
  'delete-version-after': flag.duration('Time after which a version is deleted.'),
} as const

const METADATA_FLAGS = {
  ...MOUNT_FLAG,
  ...SETTING_FLAGS,
  'custom-metadata': flag.pairs('Custom metadata as key=value; may be repeated.'),
} as const

/**
 * Status codes of PATCH after which the command reads the secret and writes it instead: no capability `patch`, or an
 * unsupported method.
 */
const NO_PATCH = [403, 405]

export const kvCommands: readonly Command[] = [
  command(
    'kv get PATH',
    'Print a secret',
    { ...MOUNT_FLAG, version: flag.int('Version to read; 0 for the newest.') },
    async (call) => {
      const { out, flags } = call
      const target = await findTarget(call)
      const at = target.at('data')
      const query = target.isV2 && flags.version ? { version: String(flags.version) } : {}
      const secret = await readAt(call, at, { query })
      if (!target.isV2 || secret.wrapInfo) return out.secret(secret)
      const { data, metadata } = secret.data ?? {}
      if (out.field === '') {
        // A deleted version has metadata, but no data.
        const sections = [['Metadata', metadata] as const, ['Data', data] as const]
        return printSections(out, secret, ['Secret Path', at], sections)
      }
      if (!isMap(data)) throw remoteError(`No data found at ${at}`)
      return out.single(out.field, Object.hasOwn(data, out.field) ? data[out.field] : undefined)
    },
  ),
  command('kv list [PATH]', 'List secrets', MOUNT_FLAG, async (call) => {
    if (!call.args[0] && call.flags.mount === '') throw localError('Not enough arguments: a path or -mount is required')
    return listAt(call, (await findTarget(call)).at('metadata'))
  }),
  command('kv put PATH [DATA K=V...]', 'Write a secret (a new version on KV v2)', PUT_FLAGS, async (call) => {
    const pairs = call.args.slice(1)
    if (pairs.length === 0) throw localError('Must supply data')
    const data = await readData(pairs, call.io)
    const target = await findTarget(call)
    const at = target.at('data')
    if (!target.isV2) return writeAt(call, 'PUT', at, { body: data })
    const body = { data, options: casOption(call.flags.cas) }
    const { secret } = await call.api.request(`Error writing data to ${at}`, 'PUT', at, { body })
    return secret ? printVersion(call, secret, at) : call.out.success(`Data written to: ${at}`)
  }),
  command('kv patch PATH [DATA K=V...]', 'Patch some keys of a secret', PATCH_FLAGS, async (call) => {
    const { api, io, args, flags } = call
    const pairs = args.slice(1)
    if (!['', 'patch', 'rw'].includes(flags.method))
      throw localError(`-method must be patch or rw, not ${flags.method}`)
    const removed = nullsOf(flags['remove-data'])
    if (pairs.length === 0 && Object.keys(removed).length === 0) throw localError('Must supply data')
    const changes = { ...(await readData(pairs, io)), ...removed }
    const target = await findTarget(call, 'patch')
    const at = target.at('data')
    if (flags.method !== 'rw') {
      const reply = await api.request(`Error patching ${at}`, 'PATCH', at, {
        body: { data: changes, options: casOption(flags.cas) },
        ...(flags.method === '' && { expected: NO_PATCH }),
      })
      if (!NO_PATCH.includes(reply.status)) return printVersion(call, reply.secret, at)
    }
    const { data: current, version } = await readVersion(call, target)
    if (!current) throw localError(`No value found at ${at}: use kv put to create the secret`)
    const remaining = Object.entries({ ...current, ...changes }).filter(([, value]) => value !== null)
    return writeVersion(call, at, Object.fromEntries(remaining), flags.cas ?? version)
  }),
  command(
    'kv rollback PATH',
    'Restore an older version of a secret as the newest',
    { ...MOUNT_FLAG, version: flag.int('Version to restore.') },
    async (call) => {
      const { version } = call.flags
      if (!version || version < 0) throw localError('-version is required and must be at least 1')
      const target = await findTarget(call, 'rollback')
      const current = await readVersion(call, target)
      const wanted = await readVersion(call, target, version)
      if (!wanted.data) throw localError(`version ${version} cannot be restored, because it is deleted or destroyed`)
      return writeVersion(call, target.at('data'), wanted.data, current.version)
    },
  ),
  command('kv delete PATH', 'Delete a secret, or versions of it on KV v2', VERSIONS_FLAGS, async (call) => {
    const { api, out, flags } = call
    const { versions } = flags
    const target = await findTarget(call, versions.length > 0 ? '-versions' : undefined)
    const at = target.at('data')
    if (versions.length === 0) return writeAt(call, 'DELETE', at)
    const { secret } = await api.request(`Error deleting ${at}`, 'PUT', target.at('delete'), { body: { versions } })
    return secret ? out.secret(secret) : out.success(`Data deleted (if it existed) at: ${at}`)
  }),
  command('kv undelete PATH', 'Restore deleted versions', VERSIONS_FLAGS, (call) => changeVersions(call, 'undelete')),
  command('kv destroy PATH', 'Destroy the data of versions permanently', VERSIONS_FLAGS, (call) =>
    changeVersions(call, 'destroy'),
  ),
  command('kv metadata get PATH', 'Print the metadata of a secret and its versions', MOUNT_FLAG, async (call) => {
    const at = await metadataPath(call)
    const secret = await readAt(call, at)
    const { versions, ...rest } = secret.data ?? {}
    const known = isMap(versions) ? Object.entries(versions).sort(([a], [b]) => Number(a) - Number(b)) : []
    const sections = known.map(([number, version]) => [`Version ${number}`, isMap(version) ? version : {}] as const)
    return printSections(call.out, secret, ['Metadata Path', at], [['Metadata', rest], ...sections])
  }),
  command('kv metadata put PATH', 'Set the metadata of a secret', METADATA_FLAGS, (call) =>
    writeMetadata(call, 'PUT', call.flags['custom-metadata']),
  ),
  command(
    'kv metadata patch PATH',
    'Patch the metadata of a secret',
    {
      ...METADATA_FLAGS,
      'remove-custom-metadata': flag.texts('Key of the custom metadata to remove; may be repeated.'),
    },
    (call) => {
      const removed = nullsOf(call.flags['remove-custom-metadata'])
      return writeMetadata(call, 'PATCH', { ...call.flags['custom-metadata'], ...removed })
    },
  ),
  command('kv metadata delete PATH', 'Delete a secret with all its versions permanently', MOUNT_FLAG, async (call) =>
    writeAt(call, 'DELETE', await metadataPath(call)),
  ),
  command('kv enable-versioning MOUNT', 'Upgrade a KV v1 mount to KV v2', async ({ api, out, at }) => {
    const body = { options: { version: '2' } }
    await api.request(`Error tuning secrets engine ${at}/`, 'POST', `sys/mounts/${at}/tune`, { body })
    return out.success(`Tuned the secrets engine at: ${at}/`)
  }),
]

type KvCall = Call<typeof MOUNT_FLAG>

const metadataPath = async (call: KvCall): Promise<string> => (await findTarget(call, 'metadata')).at('metadata')

const casOption = (cas: number | undefined): JsonMap => (cas === undefined || cas < 0 ? {} : { cas })

const nullsOf = (keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, null]))

/** Prints the response to a write, which is the metadata of the new version. */
const printVersion = ({ out }: KvCall, secret: Secret | undefined, at: string): number => {
  const written = found(secret, at)
  return printSections(out, written, ['Secret Path', at], [['Metadata', written.data ?? {}]])
}

/** Writes a new version. The server rejects the write if the newest version is not `cas`. */
const writeVersion = async (call: KvCall, at: string, data: JsonMap, cas: unknown): Promise<number> => {
  const { secret } = await call.api.request(`Error writing data to ${at}`, 'PUT', at, {
    body: { data, options: { cas } },
  })
  return printVersion(call, secret, at)
}

const changeVersions = async (call: Call<typeof VERSIONS_FLAGS>, verb: 'undelete' | 'destroy'): Promise<number> => {
  const { versions } = call.flags
  if (versions.length === 0) throw localError('No versions provided, use the "-versions" flag to specify them')
  const at = (await findTarget(call, verb)).at(verb)
  return writeAt(call, 'PUT', at, { body: { versions } })
}

/** Writes the metadata of a secret. Settings that are not on the command line stay unchanged. */
const writeMetadata = async (
  call: Call<typeof METADATA_FLAGS>,
  method: 'PUT' | 'PATCH',
  customMetadata: Readonly<Record<string, string | null>>,
): Promise<number> => {
  const body = {
    ...givenFields(call, SETTING_FLAGS),
    ...(Object.keys(customMetadata).length > 0 && { custom_metadata: customMetadata }),
  }
  return writeAt(call, method, await metadataPath(call), { body })
}

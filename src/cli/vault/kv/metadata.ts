import { type Call, type Command, defineCommand } from '../command.js'
import { found, printWritten } from '../data.js'
import { flag } from '../flags.js'
import { cleanPath } from '../values.js'
import { printMetadata } from './print.js'
import { findTarget, type KvTarget, MOUNT_FLAG, requireV2 } from './target.js'

const SETTING_FLAGS = {
  ...MOUNT_FLAG,
  'max-versions': flag.int('How many versions are kept.'),
  'cas-required': flag.bool('Whether every write has to name the version it replaces.'),
  'delete-version-after': flag.duration('How long a version lives.'),
  'custom-metadata': flag.pairs('key=value to keep with the secret; may be repeated.'),
} as const

const PATCH_FLAGS = {
  ...SETTING_FLAGS,
  'remove-custom-metadata': flag.texts('Key of the custom metadata to take away; may be repeated.'),
} as const

const ONE_PATH = { takes: 'PATH', count: [1, 1] } as const

const metadataTarget = async (call: Call<typeof MOUNT_FLAG>): Promise<KvTarget> => {
  const target = await findTarget(call, call.args[0] ?? '', call.flags.mount)
  requireV2(target, 'metadata')
  return target
}

export const kvMetadataCommands: readonly Command[] = [
  defineCommand({
    name: 'kv metadata get',
    ...ONE_PATH,
    summary: 'Print what is known about a secret and its versions',
    flags: MOUNT_FLAG,
    run: async (call) => {
      const at = (await metadataTarget(call)).at('metadata')
      return printMetadata(call.out, found(await call.api.find(`Error reading ${at}`, 'GET', at), at), at)
    },
  }),
  defineCommand({
    name: 'kv metadata put',
    ...ONE_PATH,
    summary: 'Set how the versions of a secret are kept',
    flags: SETTING_FLAGS,
    run: (call) => writeMetadata(call, 'PUT', call.flags['custom-metadata']),
  }),
  defineCommand({
    name: 'kv metadata patch',
    ...ONE_PATH,
    summary: 'Change some of that',
    flags: PATCH_FLAGS,
    run: (call) => {
      const removed = call.flags['remove-custom-metadata'].map((key) => [key, null] as const)
      return writeMetadata(call, 'PATCH', { ...call.flags['custom-metadata'], ...Object.fromEntries(removed) })
    },
  }),
  defineCommand({
    name: 'kv metadata delete',
    ...ONE_PATH,
    summary: 'Delete a secret with all its versions for good',
    flags: MOUNT_FLAG,
    run: async (call) => {
      const at = (await metadataTarget(call)).at('metadata')
      const reply = await call.api.request(`Error deleting ${at}`, 'DELETE', at)
      return printWritten(call.out, reply, `Data deleted (if it existed) at: ${at}`)
    },
  }),
  defineCommand({
    name: 'kv enable-versioning',
    takes: 'MOUNT',
    count: [1, 1],
    summary: 'Turn a KV v1 mount into KV v2',
    run: async ({ api, out, args: [mount = ''] }) => {
      const at = cleanPath(mount)
      const body = { options: { version: '2' } }
      await api.request(`Error tuning secrets engine ${at}/`, 'POST', `sys/mounts/${at}/tune`, { body })
      return out.success(`Tuned the secrets engine at: ${at}/`)
    },
  }),
]

/** Sends only the settings from the command line. The others stay unchanged. */
const writeMetadata = async (
  call: Call<typeof SETTING_FLAGS>,
  method: 'PUT' | 'PATCH',
  customMetadata: Readonly<Record<string, string | null>>,
): Promise<number> => {
  const { flags, isGiven } = call
  const at = (await metadataTarget(call)).at('metadata')
  const body = {
    ...(isGiven('max-versions') && { max_versions: flags['max-versions'] }),
    ...(isGiven('cas-required') && { cas_required: flags['cas-required'] }),
    ...(isGiven('delete-version-after') && { delete_version_after: flags['delete-version-after'] }),
    ...(Object.keys(customMetadata).length > 0 && { custom_metadata: customMetadata }),
  }
  const what = `${method === 'PUT' ? 'Error writing data to' : 'Error patching'} ${at}`
  const reply = await call.api.request(what, method, at, { body })
  return printWritten(call.out, reply, `Data written to: ${at}`)
}

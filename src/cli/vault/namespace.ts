import { type Command, defineCommand } from './command.js'
import { found } from './data.js'
import { flag } from './flags.js'
import { printListing } from './render/listing.js'
import { cleanPath } from './values.js'

const ONE_PATH = { takes: 'PATH', count: [1, 1] } as const
const METADATA_FLAG = { 'custom-metadata': flag.pairs('key=value to keep with it; may be repeated.') } as const

export const namespaceCommands: readonly Command[] = [
  defineCommand({
    name: 'namespace create',
    ...ONE_PATH,
    summary: 'Make a namespace below the current one',
    flags: METADATA_FLAG,
    run: async ({ api, out, args: [path = ''], flags }) => {
      const at = cleanPath(path)
      const body = { custom_metadata: flags['custom-metadata'] }
      const { secret } = await api.request('Error creating namespace', 'PUT', `sys/namespaces/${at}`, { body })
      return out.secret(found(secret, at))
    },
  }),
  defineCommand({
    name: 'namespace patch',
    ...ONE_PATH,
    summary: 'Change what is kept with a namespace',
    flags: { ...METADATA_FLAG, 'remove-custom-metadata': flag.texts('Key to take away; may be repeated.') },
    run: async ({ api, out, args: [path = ''], flags }) => {
      const at = cleanPath(path)
      const removed = Object.fromEntries(flags['remove-custom-metadata'].map((key) => [key, null]))
      const body = { custom_metadata: { ...flags['custom-metadata'], ...removed } }
      const { secret } = await api.request('Error patching namespace', 'PATCH', `sys/namespaces/${at}`, { body })
      return out.secret(found(secret, at))
    },
  }),
  defineCommand({
    name: 'namespace list',
    summary: 'List the namespaces below the current one',
    flags: { detailed: flag.bool('Show what is kept with each.') },
    run: async ({ api, out, flags }) => {
      const query = { list: 'true' }
      const secret = await api.find('Error listing namespaces', 'GET', 'sys/namespaces', { query })
      return printListing(out, secret, 'sys/namespaces', flags.detailed)
    },
  }),
  defineCommand({
    name: 'namespace lookup',
    ...ONE_PATH,
    summary: 'Print what is known about a namespace',
    run: async ({ api, out, args: [path = ''] }) => {
      const at = cleanPath(path)
      const secret = await api.find('Error looking up namespace', 'GET', `sys/namespaces/${at}`)
      return out.secret(found(secret, `sys/namespaces/${at}`))
    },
  }),
  defineCommand({
    name: 'namespace delete',
    ...ONE_PATH,
    summary: 'Delete a namespace with all it holds',
    run: async ({ api, out, args: [path = ''] }) => {
      const at = cleanPath(path)
      const { secret } = await api.request('Error deleting namespace', 'DELETE', `sys/namespaces/${at}`)
      if (secret) out.warn(secret)
      return out.success(`Namespace deleted at: ${at}/`)
    },
  }),
]

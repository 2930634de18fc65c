/** The paths of the keys of authorities. */
import { uuid } from '../../base/id.js'
import type { MakePrivateKey } from '../../crypto/key-pairs.js'
import { definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { int, string } from '../../logical/fields.js'
import type { Authorities } from './authorities.js'
import { keyData } from './import-paths.js'
import { pairOf, privateKeyText } from './key-types.js'
import { keyObjectOf, newKey } from './records.js'

const REFERENCE = {
  key_ref: string('Key: `default`, an ID or a name.'),
  key_name: string('Name of the key.'),
} as const

const GENERATE = {
  type: string('internal, or exported for a response with the private key.'),
  key_name: string('Name of the key.'),
  key_type: string('Type of the key: rsa, ec or ed25519.', 'rsa'),
  key_bits: int('Number of bits; 0 means the default of the type.'),
} as const

const CONFIG = { default: string('Key: an ID or a name.', '', { isRequired: true }) } as const

export const keyPaths = (authorities: Authorities, makePrivateKey: MakePrivateKey): PathSpec[] => {
  const { context } = authorities
  return [
    definePath('keys/?', {}, 'List the keys.', {
      list: async () => {
        const keys = await authorities.keys()
        const { default: id } = authorities.keyConfig()
        const info = keys.map((key) => [key.id, { key_name: key.name, is_default: key.id === id }])
        return { data: { keys: keys.map((key) => key.id), key_info: Object.fromEntries(info) } }
      },
    }),
    definePath('keys/generate/:type', GENERATE, 'Create a key.', {
      update: ({ values }) =>
        authorities.change(async () => {
          if (values.type !== 'internal' && values.type !== 'exported') {
            throw invalid(`unknown key source: ${values.type}. This server supports internal and exported`)
          }
          await authorities.checkName('key', values.key_name)
          const { type, pair } = pairOf(values.key_type, values.key_bits)
          const record = newKey(uuid(context.random), values.key_name, type, await makePrivateKey(pair))
          await authorities.add([], [record])
          const isExported = values.type === 'exported'
          const text = isExported ? privateKeyText(keyObjectOf(record), type, 'pem', 'der') : undefined
          return { data: { ...keyData(record), ...(text !== undefined && { private_key: text }) } }
        }),
    }),
    definePath('key/:key_ref', REFERENCE, 'Read, rename or delete a key.', {
      read: async ({ values }) => ({ data: keyData(await authorities.requireKey(values.key_ref)) }),
      update: ({ values }) =>
        authorities.change(async () => {
          const key = await authorities.requireKey(values.key_ref)
          await authorities.checkName('key', values.key_name, key.id)
          const renamed = { ...key, name: values.key_name }
          await authorities.putKey(renamed)
          return { data: keyData(renamed) }
        }),
      delete: ({ values }) =>
        authorities.change(async () => {
          const key = await authorities.findKey(values.key_ref)
          if (!key) return undefined
          const user = (await authorities.issuers()).find(({ keyId }) => keyId === key.id)
          if (user) throw invalid(`unable to delete key ${key.id}: issuer ${user.id} uses it`)
          const wasDefault = await authorities.deleteKey(key)
          return wasDefault
            ? { warnings: [`Deleted key ${key.id} was the default key. No default key is configured.`] }
            : undefined
        }),
    }),
    definePath('config/keys', CONFIG, 'Read or change the default key.', {
      read: () => ({ data: { default: authorities.keyConfig().default } }),
      update: ({ values }) =>
        authorities.change(async () => {
          const { id } = await authorities.requireKey(values.default)
          await authorities.putKeyConfig({ default: id })
          return { data: { default: id } }
        }),
    }),
  ]
}

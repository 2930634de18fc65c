/** The paths of the keys of authorities. */
import { uuid } from '../../base/id.js'
import type { MakePrivateKey } from '../../crypto/key-pairs.js'
import { definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { int, string, type Values } from '../../logical/fields.js'
import type { Authorities } from './authorities.js'
import { keyData } from './import-paths.js'
import { pairOf, privateKeyText } from './key-types.js'
import { keyObjectOf, type KeyRecord, newKey } from './records.js'

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

/** Creates a key without storing it. Rejects with LogicalError 400 for an invalid name, type or number of bits. */
export const createKey = async (
  authorities: Authorities,
  makePrivateKey: MakePrivateKey,
  { key_name: name, key_type, key_bits }: Pick<Values<typeof GENERATE>, 'key_name' | 'key_type' | 'key_bits'>,
): Promise<KeyRecord> => {
  await authorities.keys.checkName(name)
  const { type, pair } = pairOf(key_type, key_bits)
  return newKey(uuid(authorities.context.random), name, type, await makePrivateKey(pair))
}

export const keyPaths = (authorities: Authorities, makePrivateKey: MakePrivateKey): PathSpec[] => {
  return [
    definePath('keys/?', {}, 'List the keys.', {
      list: async () => {
        const keys = await authorities.keys.all()
        const { default: id } = authorities.keys.config()
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
          const record = await createKey(authorities, makePrivateKey, values)
          await authorities.add([], [record])
          const isExported = values.type === 'exported'
          const text = isExported ? privateKeyText(keyObjectOf(record), record.type) : undefined
          return { data: { ...keyData(record), ...(text !== undefined && { private_key: text }) } }
        }),
    }),
    definePath('key/:key_ref', REFERENCE, 'Read, rename or delete a key.', {
      read: async ({ values }) => ({ data: keyData(await authorities.keys.require(values.key_ref)) }),
      update: ({ values }) =>
        authorities.change(async () => {
          const key = await authorities.keys.require(values.key_ref)
          await authorities.keys.checkName(values.key_name, key.id)
          const renamed = { ...key, name: values.key_name }
          await authorities.keys.put(renamed)
          return { data: keyData(renamed) }
        }),
      delete: ({ values }) =>
        authorities.change(async () => {
          const key = await authorities.keys.find(values.key_ref)
          if (!key) return undefined
          const user = (await authorities.issuers.all()).find(({ keyId }) => keyId === key.id)
          if (user) throw invalid(`unable to delete key ${key.id}: issuer ${user.id} uses it`)
          const wasDefault = await authorities.keys.delete(key)
          return wasDefault
            ? { warnings: [`Deleted key ${key.id} was the default key. No default key is configured.`] }
            : undefined
        }),
    }),
    definePath('config/keys', CONFIG, 'Read or change the default key.', {
      read: () => ({ data: { default: authorities.keys.config().default } }),
      update: ({ values }) =>
        authorities.change(async () => {
          const { id } = await authorities.keys.require(values.default)
          await authorities.keys.putConfig({ default: id })
          return { data: { default: id } }
        }),
    }),
  ]
}

/** The paths of the keys of authorities. */
import { uuid } from '../../base/id.js'
import type { MakePrivateKey } from '../../crypto/key-pairs.js'
import { definePath, definePaths, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { int, string, type Values } from '../../logical/fields.js'
import { subjectKeyIdOf } from '../../crypto/x509-signing.js'
import type { Authorities } from './authorities.js'
import { keyData } from './import-paths.js'
import { pairOf, privateKeyText } from './key-types.js'
import { DEFAULT_REFERENCE } from './named-records.js'
import { colons, hyphenated, keyObjectOf, type KeyRecord, newKey } from './records.js'

const REFERENCE = {
  key_ref: string('Key: `default`, an ID or a name.'),
  key_name: string('Name of the key.'),
} as const

const GENERATE = {
  key_name: string('Name of the key.'),
  key_type: string('Type of the key: rsa, ec or ed25519.', 'rsa'),
  key_bits: int('Number of bits; 0 means the default of the type.'),
} as const

const UNNAMED = "Name successfully deleted, you will now need to reference this key by it's Id:"

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
    ...definePaths(['keys/generate/internal', 'keys/generate/exported'], GENERATE, 'Create a key.', {
      update: ({ path, values }) =>
        authorities.change(async () => {
          const record = await createKey(authorities, makePrivateKey, values)
          await authorities.add([], [record])
          const isExported = path.endsWith('/exported')
          const text = isExported ? privateKeyText(keyObjectOf(record), record.type) : undefined
          return { data: { ...keyData(record), ...(text !== undefined && { private_key: text }) } }
        }),
    }),
    definePath('key/:key_ref', REFERENCE, 'Read, rename or delete a key.', {
      read: async ({ values }) => {
        const key = await authorities.keys.require(values.key_ref)
        const keyId = await subjectKeyIdOf(keyObjectOf(key))
        return { data: { ...keyData(key), subject_key_id: colons(hyphenated(keyId)) } }
      },
      update: ({ values }) =>
        authorities.change(async () => {
          const key = await authorities.keys.require(values.key_ref)
          await authorities.keys.checkName(values.key_name, key.id)
          const renamed = { ...key, name: values.key_name }
          await authorities.keys.put(renamed)
          const warnings = values.key_name === '' ? [`${UNNAMED} ${key.id}`] : []
          return { data: keyData(renamed), warnings }
        }),
      delete: ({ values }) =>
        authorities.change(async () => {
          const key = await authorities.keys.find(values.key_ref)
          if (!key) return undefined
          const user = (await authorities.issuers.all()).find(({ keyId }) => keyId === key.id)
          if (user) throw invalid(`Failed to Delete Key.  Key in Use by Issuer: ${user.id}`)
          const wasDefault = await authorities.keys.delete(key)
          const text = `Deleted key ${key.id} (via key_ref ${values.key_ref}); this was configured as the default key. Operations without an explicit key will not work until a new default is configured.`
          return wasDefault ? { warnings: [text] } : undefined
        }),
    }),
    definePath('config/keys', CONFIG, 'Read or change the default key.', {
      read: () => ({ data: { default: authorities.keys.config().default } }),
      update: ({ values }) =>
        authorities.change(async () => {
          if (values.default === '' || values.default === DEFAULT_REFERENCE) {
            throw invalid("Invalid key specification; must be non-empty and can't be 'default'.")
          }
          const { id } = await authorities.keys.requireNamed(values.default, 'Error resolving issuer reference: ')
          await authorities.keys.putConfig({ default: id })
          return { data: { default: id } }
        }),
    }),
  ]
}

/** keys: create, read, list and delete. */
import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, duration, int, string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import { decodeBase64 } from './base64.js'
import type { KeyStore } from './key-store.js'
import { DEFAULT_KEY_TYPE, parseKeyType } from './key-types.js'
import { keyData } from './key-view.js'

const FIELDS = {
  name: string('Name of the key.'),
  type: string('Type of the key.', DEFAULT_KEY_TYPE),
  derived: bool('Each use names a context, for which a key of its own is derived.'),
  convergent_encryption: bool('The same plaintext in the same context has the same ciphertext; needs `derived`.'),
  exportable: bool('Whether the key may be exported; can be set later and never taken back.'),
  allow_plaintext_backup: bool('Whether a backup may be taken; can be set later and never taken back.'),
  auto_rotate_period: duration(
    'The key is rotated when its latest version is so old; 0 is never, else an hour or more.',
  ),
  context: string('Base64, for a read: shows the public keys that a derived key has in this context.'),
  key_size: int('Refused: for keys of the type hmac alone, which are not supported.'),
} as const

type KeyCall = Call<typeof FIELDS>

export const keyPaths = (keys: KeyStore): PathSpec[] => {
  const create = async ({ values }: KeyCall): Promise<Response> => {
    const type = parseKeyType(values.type)
    if (values.key_size !== 0) throw invalid(`key_size is not valid for algorithm ${type.name}`)
    const { record, isNew } = await keys.create(values.name, type, {
      derived: values.derived,
      convergent: values.convergent_encryption,
      exportable: values.exportable,
      allowPlaintextBackup: values.allow_plaintext_backup,
      autoRotatePeriodSeconds: values.auto_rotate_period,
    })
    const response: Response = { data: keyData(record) }
    return isNew ? response : { ...response, warnings: [`key ${values.name} already existed`] }
  }

  const read = ({ values }: KeyCall): Response | undefined => {
    const record = keys.find(values.name)
    return record && { data: keyData(record, decodeBase64(values.context)) }
  }

  const list = async (): Promise<Response> => ({ data: { keys: await keys.names() } })

  return [
    definePath({ pattern: 'keys/?', fields: {}, operations: { list }, summary: 'Lists the keys.' }),
    definePath({
      pattern: 'keys/:name',
      fields: FIELDS,
      operations: { update: create, read, delete: ({ values }) => keys.remove(values.name) },
      summary: 'Makes a key, reads what is not secret of it, or deletes it if its settings allow that.',
    }),
  ]
}

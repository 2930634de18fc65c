/**
 * Time-based one-time passwords: the engine is an authenticator that returns codes, or a provider that validates them.
 * Keys replicate like all data of a mount. A secondary returns and validates codes itself, and forwards changes of
 * keys.
 */
import { isGenericName } from '../../base/id.js'
import { LIMITS } from '../../base/limits.js'
import type { Backend, BackendContext, BackendType } from '../../logical/backend.js'
import { definePath, listed, shown } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import { Records } from '../../logical/records.js'
import { codeOf, periodAt } from './codes.js'
import { type Key, KEY_FIELDS, keyData, parseKey, pictureOf, urlOf } from './keys.js'

const CODE_FIELDS = {
  name: string('Name of the key.'),
  code: string('Code to validate.', '', { isSecret: true }),
} as const

const createTotp = (context: BackendContext): Backend => {
  const { clock, random } = context
  const keys = new Records<Key>(context, 'key/')
  const used = new Map<string, number>()

  const require = (name: string): Key => {
    const key = keys.find(name)
    if (!key) throw invalid(`unknown key: ${name}`)
    return key
  }

  /** Returns whether a code is valid. Throws LogicalError 400 if the code was valid before. */
  const validate = (name: string, code: string): boolean => {
    const key = require(name)
    const nowMs = clock.now()
    for (const [entry, untilMs] of used) if (untilMs <= nowMs) used.delete(entry)
    const entry = JSON.stringify([name, code])
    if (used.has(entry)) throw invalid('code already used; wait until the next time period')
    const period = periodAt(nowMs, key.periodSeconds)
    const skews = key.skew === 0 ? [0] : [0, -1, 1]
    if (!skews.some((skew) => codeOf(key, period + skew) === code)) return false
    used.set(entry, nowMs + key.periodSeconds * (2 + 2 * key.skew) * 1000)
    return true
  }

  return {
    type: 'totp',
    paths: [
      definePath('keys/?', {}, 'List the keys.', { list: () => listed(keys.names()) }),
      definePath('keys/:name', KEY_FIELDS, 'Create, read or delete a key.', {
        update: async ({ values }) => {
          const { name, generate, exported, qr_size: size } = values
          if (!isGenericName(name)) throw invalid(`invalid key name ${JSON.stringify(name)}`)
          if (values.key_size > LIMITS.totpKeyBytesMax || size > LIMITS.totpPicturePixelsMax)
            throw invalid(
              `key_size cannot exceed ${LIMITS.totpKeyBytesMax}, and qr_size cannot exceed ${LIMITS.totpPicturePixelsMax}`,
            )
          const key = parseKey(values, random)
          const url = urlOf(key)
          const data =
            generate && exported ? { url, ...(size > 0 && { barcode: await pictureOf(url, size) }) } : undefined
          await keys.update(name, () => key)
          return data && { data }
        },
        read: ({ values }) => shown(keys.find(values.name), keyData),
        delete: ({ values }) => keys.remove(values.name),
      }),
      definePath('code/:name', CODE_FIELDS, 'Return or validate a code.', {
        read: ({ values }) => {
          const key = require(values.name)
          return { data: { code: codeOf(key, periodAt(clock.now(), key.periodSeconds)) } }
        },
        update: ({ values: { name, code } }) => {
          if (code === '') throw invalid('the code value is required')
          return { data: { valid: validate(name, code.trim()) } }
        },
      }),
    ],
  }
}

export const totpType: BackendType = { name: 'totp', kind: 'secret', factory: createTotp, localPrefixes: [] }

/** Keys: their fields, how a request defines one, and the URL and picture that authenticator apps read. */
import { attempt } from '../../base/attempt.js'
import { LIMITS } from '../../base/limits.js'
import type { Random } from '../../base/random.js'
import { invalid } from '../../logical/errors.js'
import { bool, duration, int, string, type Values } from '../../logical/fields.js'
import { type CodeSettings, encodeBase32, findMistake, isAlgorithm } from './codes.js'

export const KEY_FIELDS = {
  name: string('Name of the key.'),
  generate: bool('Generates the key.'),
  exported: bool('Returns the URL and the picture of a generated key.', true),
  key_size: int('Number of bytes of a generated key.', 20),
  url: string('URL of the key, as in a QR code.', '', { isSecret: true }),
  key: string('Key in Base32.', '', { isSecret: true }),
  issuer: string('Issuer of the key.'),
  account_name: string('Name of the account.'),
  period: duration('Number of seconds for which a code is valid.', 30),
  algorithm: string('Hash algorithm: SHA1, SHA256 or SHA512.', 'SHA1'),
  digits: int('Number of digits of a code: 6 or 8.', 6),
  skew: int('Number of periods before and after the current one whose codes are valid: 0 or 1.', 1),
  qr_size: int('Width of the picture in pixels; 0 means no picture.', 200),
} as const

type KeyValues = Values<typeof KEY_FIELDS>

/** A stored key. */
export interface Key extends CodeSettings {
  readonly issuer: string
  readonly accountName: string
  readonly skew: number
}

export const keyData = (key: Key) => ({
  account_name: key.accountName,
  algorithm: key.algorithm,
  digits: key.digits,
  issuer: key.issuer,
  period: key.periodSeconds,
})

/** Returns the key that a request defines or generates. Throws LogicalError 400 if a value is invalid. */
export const parseKey = (values: KeyValues, random: Random): Key => {
  const given = values.url === '' || values.generate ? values : { ...values, ...parseUrl(values.url) }
  checkSettings(given)
  const secret = given.generate ? generateSecret(given, random) : parseSecret(given.key)
  const { issuer, account_name: accountName, algorithm, digits, period: periodSeconds, skew } = given
  if (!isAlgorithm(algorithm)) throw invalid('the algorithm value is not valid')
  return { issuer, accountName, digits, periodSeconds, algorithm, secret, skew }
}

const checkSettings = (values: KeyValues): void => {
  const { issuer, account_name: accountName, digits, period, skew, qr_size: qrSize, key_size: keySize } = values
  if (digits !== 6 && digits !== 8) throw invalid('the digits value can only be 6 or 8')
  if (period <= 0) throw invalid('the period value must be greater than zero')
  if (skew !== 0 && skew !== 1) throw invalid('the skew value must be 0 or 1')
  if (Math.max(issuer.length, accountName.length) > LIMITS.totpNameLengthMax)
    throw invalid(`issuer and account_name cannot exceed ${LIMITS.totpNameLengthMax} characters`)
  if (qrSize < 0) throw invalid('the qr_size value must be greater than or equal to zero')
  if (keySize <= 0) throw invalid('the key_size value must be greater than zero')
}

const generateSecret = ({ key, url, issuer, account_name, key_size }: KeyValues, random: Random): string => {
  if (key !== '') throw invalid('a key should not be passed if generate is true')
  if (url !== '') throw invalid('a url should not be passed if generate is true')
  if (account_name === '') throw invalid('the account_name value is required for generated keys')
  if (issuer === '') throw invalid('the issuer value is required for generated keys')
  return encodeBase32(random.bytes(key_size))
}

const parseSecret = (key: string): string => {
  if (key === '') throw invalid('the key value is required')
  if (key.length > LIMITS.totpKeyBytesMax) throw invalid(`key cannot exceed ${LIMITS.totpKeyBytesMax} characters`)
  const position = findMistake(key)
  if (position !== undefined) throw invalid(`invalid key value: illegal base32 data at input byte ${position}`)
  return key.toUpperCase().replace(/=+$/, '')
}

/** Returns the settings in the URL of a key, which replace those of the request. */
const parseUrl = (text: string): Partial<KeyValues> => {
  const url = attempt(() => new URL(text))
  const label = url && attempt(() => decodeURIComponent(url.pathname.replace(/^\//, '')))
  if (!url || label === undefined) throw invalid('an error occurred while parsing url string')
  const query = url.searchParams
  const [issuer, accountName] = /^(.*?):\s*(.*)$/s.exec(label)?.slice(1) ?? ['', label]
  const numberOf = (name: 'digits' | 'period') => {
    const value = query.get(name)
    if (value === null || value === '') return {}
    if (!/^\d{1,9}$/.test(value)) throw invalid(`an error occurred while parsing ${name} value in url`)
    return { [name]: Number(value) }
  }
  return {
    account_name: accountName ?? '',
    issuer: query.get('issuer') ?? issuer ?? '',
    key: query.get('secret') ?? '',
    ...numberOf('digits'),
    ...numberOf('period'),
    ...(query.get('algorithm') && { algorithm: query.get('algorithm') ?? '' }),
  }
}

/** Returns the URL of a key for authenticator apps. It contains the secret. */
export const urlOf = ({ issuer, accountName, algorithm, digits, periodSeconds, secret }: Key): string => {
  const label = `${issuer}:${accountName}`.split('/').map(encodePathSegment).join('/')
  const query = new URLSearchParams({
    algorithm,
    digits: String(digits),
    issuer,
    period: String(periodSeconds),
    secret,
  })
  return `otpauth://totp/${label}?${query}`
}

/** Encodes a segment of a path, in which `:` and `@` need no escape. */
const encodePathSegment = (text: string): string =>
  encodeURIComponent(text).replaceAll('%3A', ':').replaceAll('%40', '@')

const WHITE = 0xff
const RGBA_BYTES = 4

/** Resolves to a QR code as a square PNG in Base64. Rejects with LogicalError 400 if the text is too long for it. */
export const pictureOf = async (text: string, width: number): Promise<string> => {
  const [{ PNG }, { encode }] = await Promise.all([import('pngjs'), import('uqr')])
  const code = attempt(() => encode(text, { ecc: 'M', border: 4 }))
  if (!code) throw invalid('the names are too long for a picture: set qr_size to 0')
  const { data: rows, size } = code
  const scale = Math.floor(width / size)
  if (scale === 0) throw invalid(`the qr_size value must be at least ${size}`)
  const margin = Math.floor((width - size * scale) / 2)
  const png = new PNG({ width, height: width })
  png.data.fill(WHITE)
  for (const y of Array(size * scale).keys()) {
    for (const x of Array(size * scale).keys()) {
      const at = ((y + margin) * width + x + margin) * RGBA_BYTES
      if (rows[Math.floor(y / scale)]?.[Math.floor(x / scale)]) png.data.fill(0, at, at + RGBA_BYTES - 1)
    }
  }
  return PNG.sync.write(png, { colorType: 0 }).toString('base64')
}

/** Codes of RFC 6238, from secrets in Base32 (RFC 4648). */
import { createHmac } from 'node:crypto'

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** The hash of each algorithm, by its name in the API. */
const ALGORITHMS = { SHA1: 'sha1', SHA256: 'sha256', SHA512: 'sha512' } as const
type Algorithm = keyof typeof ALGORITHMS

export const isAlgorithm = (name: string): name is Algorithm => Object.hasOwn(ALGORITHMS, name)

/** Settings of a code. The secret is in Base32 without padding. */
export interface CodeSettings {
  readonly secret: string
  readonly algorithm: Algorithm
  readonly digits: number
  readonly periodSeconds: number
}

/**
 * Returns the position at which a text is not Base32, or undefined. The padding is complete or absent. Letters are in
 * any case.
 */
export const findMistake = (text: string): number | undefined => {
  const length = text.search(/[^A-Za-z2-7]|$/)
  const isWhole = text.length % 8 === 0 && /^=*$/.test(text.slice(length))
  const isValid = [0, 2, 4, 5, 7].includes(length % 8) && (text.length === length || isWhole)
  return isValid && text.length - length < 8 && length > 0 ? undefined : length
}

export const encodeBase32 = (bytes: Buffer): string => {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? []).map((group) => BASE32[Number.parseInt(group.padEnd(5, '0'), 2)]).join('')
}

const decodeBase32 = (text: string): Buffer => {
  const bits = [...text].map((character) => BASE32.indexOf(character).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}

/** Returns the number of the period that contains a time in milliseconds since the epoch. */
export const periodAt = (nowMs: number, periodSeconds: number): number => Math.floor(nowMs / 1000 / periodSeconds)

/** Returns the code of a period. */
export const codeOf = ({ secret, algorithm, digits }: CodeSettings, period: number): string => {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(period))
  const hash = createHmac(ALGORITHMS[algorithm], decodeBase32(secret)).update(counter).digest()
  const offset = (hash.at(-1) ?? 0) & 0x0f
  const number = hash.readUInt32BE(offset) & 0x7fffffff
  return String(number % 10 ** digits).padStart(digits, '0')
}

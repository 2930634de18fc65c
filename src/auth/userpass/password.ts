/** Passwords as bcrypt hashes. */
import { LIMITS } from '../../base/limits.js'
import type { JobOwner } from '../../base/fair-queue.js'
import type { Random } from '../../base/random.js'
import { invalid } from '../../logical/errors.js'
import type { Passwords } from './password-worker.js'

const COST = 10
const PASSWORD_BYTES_MAX = 72
const BCRYPT_BASE64 = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/**
 * A hash that matches no password. A login with an unknown name is compared with it, so that it takes as long as any other.
 */
const NOBODY = `$2b$${COST}$${'.'.repeat(53)}`

/** Throws 400 for a password longer than bcrypt supports. */
export const hashPassword = async (passwords: Passwords, password: string, random: Random): Promise<string> => {
  if (Buffer.byteLength(password) > PASSWORD_BYTES_MAX) {
    throw invalid(`bcrypt: password length exceeds ${PASSWORD_BYTES_MAX} bytes`)
  }
  return passwords.hash(password, `$2b$${COST}$${encodeSalt(random.bytes(16))}`)
}

/**
 * Normalizes the equivalent prefixes `$2a$`, `$2b$` and `$2y$` to `$2b$`. Throws 400 for anything else, and for a cost that
 * is too high.
 */
export const parsePasswordHash = (text: string): string => {
  const match = /^\$2[aby]\$(0[4-9]|[12]\d|3[01])\$([./A-Za-z0-9]{53})$/.exec(text)
  if (!match) throw invalid('"password_hash" is not a bcrypt hash')
  if (Number(match[1]) > LIMITS.bcryptCostMax) {
    throw invalid(`"password_hash" has a cost of more than ${LIMITS.bcryptCostMax}`)
  }
  return `$2b$${match[1]}$${match[2]}`
}

/** Returns false for a wrong password and for an unknown user, after the same amount of work. */
export const isPassword = async (
  passwords: Passwords,
  password: string,
  hash: string | undefined,
  owner: JobOwner,
): Promise<boolean> => {
  const isEqual = await passwords.isMatch(password, hash ?? NOBODY, owner)
  return isEqual && hash !== undefined
}

/** Returns the owner of a queued password: the client's address (for IPv6, its /64 network), then the user. */
export const ownerOf = (address: string, name: string): JobOwner => {
  const [head = ''] = address.split('::')
  return { source: address.includes(':') ? head.split(':').slice(0, 4).join(':') : address, name }
}

/** Encodes 16 bytes as 22 characters of bcrypt's base64 alphabet. */
const encodeSalt = (bytes: Buffer): string => {
  let bits = 0n
  for (const byte of bytes) bits = (bits << 8n) | BigInt(byte)
  // 22 characters hold 132 bits, four more than the salt has.
  bits <<= 4n
  let text = ''
  for (let shift = 126n; shift >= 0n; shift -= 6n) text += BCRYPT_BASE64[Number((bits >> shift) & 63n)]
  return text
}

import { pbkdf2Sync } from 'node:crypto'
import { hmacSha256, sha256 } from './digest.js'

const ITERATIONS = 4096

/** Returns the SCRAM-SHA-256 verifier of a password, in the form that PostgreSQL stores. `salt` has 16 bytes. */
export const scramVerifier = (password: string, salt: Buffer): string => {
  const salted = pbkdf2Sync(password.normalize('NFKC'), salt, ITERATIONS, 32, 'sha256')
  const storedKey = sha256(hmacSha256(salted, 'Client Key')).toString('base64')
  const serverKey = hmacSha256(salted, 'Server Key').toString('base64')
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`
}

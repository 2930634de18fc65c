import bcrypt from 'bcrypt'
import type { Passwords } from './password-worker.js'

/**
 * Runs bcrypt in the main thread, which blocks the event loop. Only for simulations, whose clock stands still
 * meanwhile.
 */
export class InlinePasswords implements Passwords {
  async hash(password: string, salt: string): Promise<string> {
    return bcrypt.hashSync(password, salt)
  }

  async isMatch(password: string, hash: string): Promise<boolean> {
    return bcrypt.compareSync(password, hash)
  }

  async close(): Promise<void> {}
}

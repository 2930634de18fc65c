import bcrypt from 'bcrypt'
import type { Passwords } from './password-worker.js'

/** Runs bcrypt without a thread. For simulations only, because it blocks the event loop: their clock does not advance. */
export class InlinePasswords implements Passwords {
  async hash(password: string, salt: string): Promise<string> {
    return bcrypt.hashSync(password, salt)
  }

  async isMatch(password: string, hash: string): Promise<boolean> {
    return bcrypt.compareSync(password, hash)
  }

  async close(): Promise<void> {}
}

import bcrypt from 'bcrypt'
import type { Passwords } from './password-worker.js'

/** bcrypt without a thread, which blocks the event loop: for a simulation, whose clock does not advance by itself. */
export class InlinePasswords implements Passwords {
  async hash(password: string, salt: string): Promise<string> {
    return bcrypt.hashSync(password, salt)
  }

  async isMatch(password: string, hash: string): Promise<boolean> {
    return bcrypt.compareSync(password, hash)
  }

  async close(): Promise<void> {}
}

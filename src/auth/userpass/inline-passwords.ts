import bcrypt from 'bcrypt'
import type { Passwords } from './password-worker.js'

/** bcrypt without a thread, which holds up everything else meanwhile: for a simulation, in which no time passes by itself. */
export class InlinePasswords implements Passwords {
  async hash(password: string, salt: string): Promise<string> {
    return bcrypt.hashSync(password, salt)
  }

  async isMatch(password: string, hash: string): Promise<boolean> {
    return bcrypt.compareSync(password, hash)
  }

  async close(): Promise<void> {}
}

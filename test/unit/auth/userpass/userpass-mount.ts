import { createUserpassType } from '../../../../src/auth/userpass/backend.js'
import { PasswordWorker } from '../../../../src/auth/userpass/password-worker.js'
import type { MountView } from '../../../../src/logical/backend.js'
import { DEFAULT_LOCKOUT } from '../../../../src/logical/lockout.js'
import { BackendHarness } from '../../../support/backend-harness.js'

export const makeUserpass = (lockout: 'on' | 'off' = 'on', mount: Partial<MountView> = {}): BackendHarness => {
  const options = { passwords: new PasswordWorker(), lockout: lockout === 'on' ? DEFAULT_LOCKOUT : undefined }
  return new BackendHarness(createUserpassType(options).factory, mount)
}

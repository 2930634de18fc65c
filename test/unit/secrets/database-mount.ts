import { createDatabaseType } from '../../../src/secrets/database/backend.js'
import type { DatabasePlugin, DatabaseUser, PluginSettings } from '../../../src/secrets/database/plugin.js'
import type { MountView } from '../../../src/logical/backend.js'
import { BackendHarness } from '../../support/backend-harness.js'

/** An error of PostgreSQL for a wrong password. */
const wrongPassword = () => Object.assign(new Error('password authentication failed'), { code: '28P01' })

/** A database in memory, whose connections need the password of its root user. */
export class MemoryDatabase {
  readonly users = new Map<string, string>([['root', 'first']])
  readonly settings: PluginSettings[] = []
  /** The statements of the last change. */
  statements: readonly string[] = []
  /** The error of each change, if any. */
  failure: Error | undefined
  /** The error after each change, as if the connection was lost. */
  lateFailure: Error | undefined
  open = 0

  connect(settings: PluginSettings): DatabasePlugin {
    this.settings.push(settings)
    this.open++
    const change = async (work: () => void, statements: readonly string[] = []) => {
      if (this.failure) throw this.failure
      if (new URL(settings.url).password !== this.users.get('root')) throw wrongPassword()
      this.statements = statements
      work()
      if (this.lateFailure) throw this.lateFailure
    }
    const set = ({ username, password }: DatabaseUser) => void this.users.set(username, password)
    return {
      verify: () => change(() => undefined),
      createUser: (user, { creation }) => change(() => set(user), creation),
      renewUser: (_username, _expiresMs, statements) => change(() => undefined, statements),
      setPassword: (user, statements) => change(() => set(user), statements),
      dropUser: (username, statements) => change(() => void this.users.delete(username), statements),
      close: async () => {
        this.open--
      },
    }
  }
}

export const makeDatabase = (mount: Partial<MountView> = {}) => {
  const database = new MemoryDatabase()
  let passwords = 0
  const state = { isFenced: false }
  const type = createDatabaseType({
    openPlugin: (settings) => database.connect(settings),
    generatePassword: (_namespaceId, policy) => `${policy}password-${++passwords}`,
    isFenced: () => state.isFenced,
  })
  const harness = new BackendHarness(type.factory, { path: 'database/', ...mount })
  return { harness, database, state }
}

import { PeriodicWork } from '../../base/periodic-work.js'
import type { BackendContext } from '../../logical/backend.js'
import { requirePrimary } from '../../logical/decided-by-primary.js'
import { invalid, isReadOnly, LogicalError } from '../../logical/errors.js'
import { Connections } from './connections.js'
import type { OpenPlugin } from './plugin.js'
import { type Connection, createRecords, type DatabaseRecords, requireConnection, type StaticRole } from './records.js'

/** The pause between two searches for static roles whose rotation is due. */
const ROTATION_CHECK_MS = 5000
/** The pause after a failed rotation of a static role. */
const RETRY_MS = 10_000

export interface DatabaseOptions {
  readonly openPlugin: OpenPlugin
  /** Returns a new password for a password policy of a namespace; without a name, for the policy of the engine. */
  readonly generatePassword: (namespaceId: string, policy: string) => string
  /** Returns true while this cluster must not change databases, since a newer primary exists. */
  readonly isFenced: () => boolean
}

/** The records, the open connections and the rotations of one mount. */
export class DatabaseEngine {
  readonly context: BackendContext
  readonly records: DatabaseRecords
  readonly connections: Connections
  readonly #options: DatabaseOptions
  readonly #work = new PeriodicWork(() => this.#rotateDue())
  /** The times of the next attempts of static roles whose rotation failed. */
  readonly #retryAtMs = new Map<string, number>()

  constructor(context: BackendContext, options: DatabaseOptions) {
    this.context = context
    this.#options = options
    this.records = createRecords(context)
    this.connections = new Connections(context, this.records.connections, options.openPlugin)
  }

  /** Throws LogicalError 400 if the password policy of the connection does not exist. */
  newPassword({ passwordPolicy }: Pick<Connection, 'passwordPolicy'>): string {
    try {
      return this.#options.generatePassword(this.context.mount.namespace.id, passwordPolicy)
    } catch (error) {
      if (!(error instanceof LogicalError) || error.code !== 'not-found') throw error
      throw invalid('failed to generate password: no password policy found')
    }
  }

  /**
   * Changes the password of the root user. Stores the new password before and after the change, so that a crash in
   * between loses no password.
   */
  async rotateRoot(name: string): Promise<void> {
    requirePrimary(this.context)
    const { connections } = this.records
    const { details, rotationStatements, passwordPolicy } = this.connections.require(name)
    const { username, connection_url } = details
    if (typeof username !== 'string' || username === '' || !/\{\{password\}\}/.test(String(connection_url))) {
      throw invalid('a rotation requires the username of the root user, and a connection_url with {{password}}')
    }
    const fresh = this.newPassword({ passwordPolicy })
    const pending = await connections.update(name, (now) => now && { pendingPassword: fresh, ...now })
    const password = pending?.pendingPassword ?? fresh
    await this.connections.run(name, (plugin) => plugin.setPassword({ username, password }, rotationStatements))
    await connections.update(name, (now) => {
      if (!now) return undefined
      const { pendingPassword: _, ...rest } = now
      return { ...rest, password }
    })
    this.connections.reset(name)
  }

  /**
   * Changes the password of the user of a static role, if `isDue` is true for the stored role. An interrupted change is
   * repeated with the same password.
   */
  async rotateStatic(name: string, isDue: (role: StaticRole) => boolean = () => true): Promise<void> {
    requirePrimary(this.context)
    const { staticRoles } = this.records
    const role = staticRoles.find(name)
    if (!role) throw invalid('no static role found for role name')
    const fresh = this.newPassword(requireConnection(this.records, role.connection, name))
    const pending = await staticRoles.update(name, (now) =>
      now && isDue(now) ? { pendingPassword: fresh, ...now } : undefined,
    )
    if (!pending) return
    const { username, rotationStatements, pendingPassword: password = fresh } = pending
    await this.connections.run(role.connection, (plugin) =>
      plugin.setPassword({ username, password }, rotationStatements),
    )
    await staticRoles.update(name, (now) => {
      if (!now) return undefined
      const { pendingPassword: _, ...rest } = now
      return { ...rest, password, rotatedMs: this.context.clock.now() }
    })
  }

  start(signal: AbortSignal): void {
    this.#work.start(this.context.clock, ROTATION_CHECK_MS, signal)
  }

  async stop(): Promise<void> {
    await this.connections.closeAll()
    await this.#work.settled()
  }

  /** Rotates the static roles that are due. Runs only on a cluster that can write the roles. */
  async #rotateDue(): Promise<void> {
    const { context, records } = this
    try {
      if (context.isReadOnly() || this.#options.isFenced()) return
      for (const name of await records.staticRoles.names()) {
        if (this.#work.isStopped) return
        await this.#rotateIfDue(name)
      }
    } catch (error) {
      if (!this.#work.isStopped) context.log.warn('automatic rotation failed', { error: String(error) })
    }
  }

  async #rotateIfDue(name: string): Promise<void> {
    const { clock, log } = this.context
    const isDue = (role: StaticRole): boolean => clock.now() >= nextRotationMs(role)
    const role = this.records.staticRoles.find(name)
    if (!role || !isDue(role) || (this.#retryAtMs.get(name) ?? 0) > clock.now()) return
    try {
      await this.rotateStatic(name, isDue)
      this.#retryAtMs.delete(name)
      log.info('automatically rotated the password of a static role', { role: name })
    } catch (error) {
      // If a password cannot be changed, the rotation of the others continues.
      if (this.#work.isStopped || isReadOnly(error)) throw error
      this.#retryAtMs.set(name, clock.now() + RETRY_MS)
      log.warn('automatic rotation of a static role failed', { role: name, error: String(error) })
    }
  }
}

export const nextRotationMs = ({ rotatedMs, periodSeconds }: StaticRole): number => rotatedMs + periodSeconds * 1000

import { expect } from 'vitest'
import { type ApproleOptions, createApproleType } from '../../../../src/auth/approle/backend.js'
import { OWN_KEYS } from '../../../../src/server/config/tables.js'
import { renderError } from '../../../../src/http/message/status-codes.js'
import type { MountView } from '../../../../src/logical/backend.js'
import { renderAnswer } from '../../../../src/logical/envelope.js'
import type { JsonObject } from '../../../../src/logical/json.js'
import { DEFAULT_LOCKOUT } from '../../../../src/logical/lockout.js'
import type { LoginAuth, Operation, Request, Response } from '../../../../src/logical/request.js'
import { BackendHarness, makeRequest } from '../../../support/backend-harness.js'
import type { MemoryStorage } from '../../../support/memory-storage.js'

/** The defaults of a server. */
export const APPROLE_OPTIONS: ApproleOptions = {
  tidyIntervalMs: OWN_KEYS.approle_tidy_interval.fallback,
  lockout: DEFAULT_LOCKOUT,
}

/** A response as a client sees it: status, and the body without the common fields of the envelope. */
export interface Answer {
  readonly status: number
  readonly data?: Record<string, unknown>
  readonly errors?: readonly string[]
  readonly warnings?: readonly string[]
}

export interface Issued {
  readonly secretId: string
  readonly accessor: string
}

/** One AppRole mount, called through its endpoints, without the rest of a server. */
export class ApproleMount {
  readonly harness: BackendHarness
  readonly localStorage: MemoryStorage
  /** True on a performance secondary: replicated keys cannot be written. */
  isReadOnly = false
  /** Can be changed, as by tuning. */
  readonly mount: { -readonly [K in keyof MountView]: MountView[K] }

  constructor(options: Partial<ApproleOptions> = {}) {
    const type = createApproleType({ ...APPROLE_OPTIONS, ...options })
    let mount: MountView | undefined
    this.harness = new BackendHarness((given) => {
      mount = { ...given.mount, path: 'auth/approle/', accessor: 'auth_approle_00000000' }
      return type.factory({ ...given, mount, isReadOnly: () => this.isReadOnly })
    })
    if (!mount) throw new Error('the backend was not made')
    this.mount = mount
    this.localStorage = this.harness.context.localStorage as MemoryStorage
  }

  get clock() {
    return this.harness.clock
  }

  get storage() {
    return this.harness.storage
  }

  /** Returns status and body of a response or an error. */
  async ask(operation: Operation, path: string, body: JsonObject = {}, more: Partial<Request> = {}): Promise<Answer> {
    const request = makeRequest(operation, path, body, more)
    let rendered: { status: number; body: unknown }
    try {
      const response = await this.harness.call(operation, path, body, more)
      await response?.loginStored
      rendered = renderAnswer(request, response)
    } catch (error) {
      rendered = renderError(error)
      if (rendered.status === 500) throw error
    }
    const { data, errors, warnings } = rendered.body === '' ? {} : JSON.parse(String(rendered.body))
    return {
      status: rendered.status,
      ...(data && { data }),
      ...(errors && { errors }),
      ...(warnings && { warnings }),
    }
  }

  read = (path: string) => this.ask('read', path)
  write = (path: string, body: JsonObject = {}) => this.ask('update', path, body)
  remove = (path: string, query: JsonObject = {}) => this.ask('delete', path, query)
  /** Lists a path. Adds the trailing slash, as the HTTP front does. */
  list = (path: string) => this.ask('list', `${path}/`)

  /** Creates a role with a RoleID of the same name. Fails if this is rejected. */
  async makeRole(name: string, body: JsonObject = {}): Promise<void> {
    expect(await this.write(`role/${name}`, { role_id: name, ...body })).toMatchObject({ status: 204 })
  }

  /** Generates a SecretID. Fails if this is rejected. */
  async issue(role: string, body: JsonObject = {}): Promise<Issued> {
    const { status, data } = await this.write(`role/${role}/secret-id`, body)
    expect(status).toBe(200)
    return { secretId: String(data?.secret_id), accessor: String(data?.secret_id_accessor) }
  }

  lookup = (role: string, secretId: string) => this.write(`role/${role}/secret-id/lookup`, { secret_id: secretId })

  /** Logs in as a client. Status 200 means that the core would create a token. */
  login = (roleId: string, secretId?: string, remoteAddress = '127.0.0.1') =>
    this.ask(
      'update',
      'login',
      { role_id: roleId, ...(secretId !== undefined && { secret_id: secretId }) },
      { remoteAddress },
    )

  /** Returns the login that the core gets. Fails if the login is rejected. */
  async auth(roleId: string, secretId?: string, remoteAddress = '127.0.0.1'): Promise<LoginAuth> {
    const body = { role_id: roleId, ...(secretId !== undefined && { secret_id: secretId }) }
    const response: Response | undefined = await this.harness.call('update', 'login', body, { remoteAddress })
    if (!response?.login) throw new Error('there was no login')
    await response.loginStored
    return response.login
  }
}

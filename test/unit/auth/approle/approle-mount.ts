import { expect } from 'vitest'
import { type ApproleOptions, createApproleType } from '../../../../src/auth/approle/backend.js'
import { OWN_KEYS } from '../../../../src/server/config/tables.js'
import { renderError } from '../../../../src/http/message/status-codes.js'
import type { MountView } from '../../../../src/logical/backend.js'
import { renderAnswer } from '../../../../src/logical/envelope.js'
import type { JsonObject } from '../../../../src/logical/json.js'
import { DEFAULT_LOCKOUT } from '../../../../src/logical/lockout-settings.js'
import type { LoginAuth, Operation, Request, Response } from '../../../../src/logical/request.js'
import { BackendHarness, makeRequest } from '../../../support/backend-harness.js'
import type { MemoryStorage } from '../../../support/memory-storage.js'

/** What a server has by default. */
export const APPROLE_OPTIONS: ApproleOptions = {
  tidyIntervalMs: OWN_KEYS.approle_tidy_interval.fallback,
  lockout: DEFAULT_LOCKOUT,
}

/** What a client would see: status, and the body without what every envelope has. */
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

/** One AppRole mount, asked as through its endpoints but without the rest of a server. */
export class ApproleMount {
  readonly harness: BackendHarness
  readonly localStorage: MemoryStorage
  /** True makes it a performance secondary: replicated keys cannot be written. */
  isReadOnly = false
  /** Can be tuned as a mount is. */
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

  /** Status and body of an answer or of a refusal. */
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
  /** A list asks for the path with a slash, as the transport has it. */
  list = (path: string) => this.ask('list', `${path}/`)

  /** Makes a role with a RoleID of the same name, which must work. */
  async makeRole(name: string, body: JsonObject = {}): Promise<void> {
    expect(await this.write(`role/${name}`, { role_id: name, ...body })).toMatchObject({ status: 204 })
  }

  /** Generates a SecretID, which must work. */
  async issue(role: string, body: JsonObject = {}): Promise<Issued> {
    const { status, data } = await this.write(`role/${role}/secret-id`, body)
    expect(status).toBe(200)
    return { secretId: String(data?.secret_id), accessor: String(data?.secret_id_accessor) }
  }

  lookup = (role: string, secretId: string) => this.write(`role/${role}/secret-id/lookup`, { secret_id: secretId })

  /** A login as a client sees it; 200 means that the core would make a token. */
  login = (roleId: string, secretId?: string, remoteAddress = '127.0.0.1') =>
    this.ask(
      'update',
      'login',
      { role_id: roleId, ...(secretId !== undefined && { secret_id: secretId }) },
      { remoteAddress },
    )

  /** What a login, which must work, tells the core about the token. */
  async auth(roleId: string, secretId?: string, remoteAddress = '127.0.0.1'): Promise<LoginAuth> {
    const body = { role_id: roleId, ...(secretId !== undefined && { secret_id: secretId }) }
    const response: Response | undefined = await this.harness.call('update', 'login', body, { remoteAddress })
    if (!response?.login) throw new Error('there was no login')
    await response.loginStored
    return response.login
  }
}

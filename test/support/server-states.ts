import { ApiClient } from '../../src/client/api-client.js'
import type { Kind } from '../../src/lab/model/kinds.js'
import {
  enablePrimary,
  enableSecondary,
  initialize,
  secondaryToken,
  statusOf,
} from '../../src/lab/requests/replication.js'
import type { Server } from '../../src/server/server.js'
import { freePorts, localConfig } from './local-config.js'
import { sourceBehindDoor, startServer } from './memory-server.js'
import { until } from './until.js'

/** A server of this process in one of its states, and who may be asking it. */
export interface ServerInState {
  readonly server: Server
  readonly client: ApiClient
  /** May do everything that needs no sudo; where there can be such a token. */
  readonly ordinary?: string
  /** As good as none where tokens cannot be looked at. */
  readonly root: string
}

const UNKNOWN = 'hvs.unknown'

/** As much as a policy can give without sudo. */
const ORDINARY = 'path "*" { capabilities = ["create", "read", "update", "patch", "delete", "list"] }'

/** One server for each state that rules about paths speak of. `close` ends them all. */
export class ServersInStates {
  readonly #ended: (() => Promise<void>)[] = []

  async close(): Promise<void> {
    for (const end of this.#ended.reverse()) await end()
  }

  async uninitialized(): Promise<ServerInState> {
    const { server, client } = await this.#start()
    return { server, client, root: UNKNOWN }
  }

  async sealed(): Promise<ServerInState> {
    const state = await this.uninitialized()
    await state.client.write('sys/init', { secret_shares: 1, secret_threshold: 1 })
    return state
  }

  /** With a primary of both kinds of replication, a namespace and a mount of each type. */
  async active(): Promise<ServerInState> {
    const { server, client } = await this.#start()
    const { rootToken: root } = await initialize(client, 1, 1)
    const asRoot = this.#as(client, root)
    await asRoot.write('sys/policies/acl/ordinary', { policy: ORDINARY })
    await asRoot.write('sys/namespaces/team')
    await asRoot.write('sys/auth/approle', { type: 'approle' })
    await asRoot.write('sys/auth/userpass', { type: 'userpass' })
    await asRoot.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } })
    await asRoot.write('sys/mounts/secret', { type: 'kv', options: { version: '2' } })
    for (const kind of ['dr', 'performance'] as const) {
      await enablePrimary(asRoot, kind)
      await until(async () => (await statusOf(client, kind)).mode === 'primary')
    }
    return { server, client, ordinary: await ordinaryToken(asRoot), root }
  }

  async secondary(kind: Kind, primary: ServerInState): Promise<ServerInState> {
    const { server, client } = await this.#join(kind, primary, () => undefined)
    await until(async () => (await statusOf(client, kind)).state === 'stream-wals')
    if (kind === 'dr') return { server, client, root: primary.root }
    const root = await ownRoot(server)
    return { server, client, ordinary: await ordinaryToken(this.#as(client, root)), root }
  }

  /** Waits for its first copy. */
  async bootstrapping(kind: Kind, primary: ServerInState): Promise<ServerInState> {
    const { server, client } = await this.#join(kind, primary, ({ holds }) => holds.hold(kind, 'bootstrapping'))
    await until(() => server.holds.list().some(({ isReached }) => isReached))
    return { server, client, root: kind === 'dr' ? UNKNOWN : await ownRoot(server) }
  }

  /** A performance secondary that its primary cut off before its first copy was complete. */
  async stranded(primary: ServerInState): Promise<ServerInState> {
    const state = await this.bootstrapping('performance', primary)
    const body = { id: idOf(state.client) }
    await this.#as(primary.client, primary.root).write('sys/replication/performance/primary/revoke-secondary', body)
    state.server.holds.release()
    await until(() => state.server.runtime?.cluster?.replication.view.isStranded === true)
    return { ...state, root: await ownRoot(state.server) }
  }

  /** Between two runtimes, until it is closed. */
  async restarting(): Promise<ServerInState> {
    const { server, client, door } = await this.#start({ role_change_wait: '0' })
    const { rootToken: root } = await initialize(client, 1, 1)
    door.isHeld = true
    server.host.restart('a test')
    await until(() => server.runtime === undefined)
    return { server, client, root }
  }

  async #join(kind: Kind, primary: ServerInState, prepare: (server: Server) => void) {
    const { server, client } = await this.#start()
    const { rootToken } = await initialize(client, 1, 1)
    prepare(server)
    const token = await secondaryToken(this.#as(primary.client, primary.root), kind, idOf(client))
    await enableSecondary(this.#as(client, rootToken), kind, token)
    return { server, client }
  }

  async #start(settings: Readonly<Record<string, string>> = {}) {
    const { data, door } = sourceBehindDoor()
    const local = localConfig(await freePorts(), { understudy: settings })
    const server = await startServer(local, { data })
    const client = new ApiClient({ address: local.api_addr })
    this.#ended.push(async () => {
      door.isHeld = false
      client.close()
      await server.close(0)
    })
    return { server, client, door }
  }

  #as(client: ApiClient, token: string): ApiClient {
    const other = client.with({ token })
    this.#ended.push(async () => other.close())
    return other
  }
}

const idOf = ({ address }: ApiClient): string => `at-${new URL(address).port}`

const ordinaryToken = async (asRoot: ApiClient): Promise<string> => {
  const made = await asRoot.write('auth/token/create', { policies: ['ordinary'], no_default_policy: true })
  return String((made.auth as { client_token: unknown }).client_token)
}

const ownRoot = async ({ runtime }: Server): Promise<string> => {
  const made = await runtime?.cluster?.services.tokens.createRoot()
  if (!made) throw new Error('the cluster is closed')
  return made.id
}

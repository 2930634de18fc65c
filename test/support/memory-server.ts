import { silentLog } from '../../src/base/log.js'
import { ApiClient } from '../../src/client/api-client.js'
import { loadServerConfig } from '../../src/server/config/server-config.js'
import { Server } from '../../src/server/server.js'
import type { EngineSource } from '../../src/storage/engine/engine-source.js'
import { openMemoryGenerations } from '../../src/storage/engine/memory-generations.js'
import { ANY_PORTS, devFlags, freePorts, localConfig } from './local-config.js'

/** Returns a source in memory with some of its members replaced. */
export const sourceWith = (replace: (source: EngineSource) => Partial<EngineSource>): EngineSource => {
  const source = openMemoryGenerations()
  return Object.create(source, Object.getOwnPropertyDescriptors(replace(source))) as EngineSource
}

/** Returns a source in memory whose runtimes cannot be opened while `gate.isHeld` is true. */
export const sourceBehindGate = () => {
  const gate = { isHeld: false }
  const data = sourceWith((source) => ({
    get engine() {
      if (gate.isHeld) throw new Error('held by the test')
      return source.engine
    },
  }))
  return { data, gate }
}

interface Start extends Partial<Omit<Parameters<typeof Server.start>[0], 'config' | 'openStorage'>> {
  readonly flags?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** The storage of the server (default: empty, in memory). */
  readonly data?: EngineSource | undefined
}

/** Starts a server in this process. Throws an Error with the problems of an invalid configuration. */
export const startServer = async (
  local: object,
  { flags = [], env = {}, data = openMemoryGenerations(), ...parts }: Start = {},
): Promise<Server> => {
  const { config, problems } = loadServerConfig(flags, { VAULT_LOCAL_CONFIG: JSON.stringify(local), ...env })
  if (!config) throw new Error(JSON.stringify(problems))
  return Server.start({ config, log: silentLog, ...parts, openStorage: async () => data })
}

/** Starts, initializes and unseals a server without HTTP requests. By default, no other server can call it. */
export const startOpenServer = async (start: Start, local: object = localConfig(ANY_PORTS)) => {
  const server = await startServer(local, start)
  const seal = server.runtime?.seal
  const made = await seal?.initialize({ shares: 1, threshold: 1 }, async (delivered) => delivered)
  const [share] = made?.shares ?? []
  if (!made || !share) throw new Error('the server was not initialized')
  await seal?.unseal(share)
  return { server, rootToken: made.rootToken }
}

/** A development server in this process. Its root token is `root`. */
export interface DevServer extends AsyncDisposable {
  readonly client: ApiClient
}

export const startDevServer = async (settings: object = {}): Promise<DevServer> => {
  const ports = await freePorts()
  const { api_addr, cluster_addr } = localConfig(ports)
  const server = await startServer({ api_addr, cluster_addr, ...settings }, { flags: devFlags(ports, 'root') })
  const client = new ApiClient({ address: api_addr, token: 'root' })
  return {
    client,
    async [Symbol.asyncDispose]() {
      client.close()
      await server.close(0)
    },
  }
}

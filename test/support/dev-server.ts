import { silentLog } from '../../src/base/log.js'
import { ApiClient } from '../../src/client/api-client.js'
import { randomPorts } from '../../src/lab/model/ports.js'
import { loadServerConfig } from '../../src/server/config/server-config.js'
import { Server } from '../../src/server/server.js'
import { openMemoryGenerations } from '../../src/storage/engine/memory-generations.js'

/** A development server in this process, with memory for a disk. Its root token is `root`. */
export interface DevServer extends AsyncDisposable {
  readonly client: ApiClient
}

export const startDevServer = async (settings: Readonly<Record<string, unknown>> = {}): Promise<DevServer> => {
  const ports = (await randomPorts(['A'])).get('A')
  if (!ports) throw new Error('no ports')
  const own = { api_addr: `http://127.0.0.1:${ports.api}`, cluster_addr: `https://127.0.0.1:${ports.cluster}` }
  const flags = ['-dev', `-dev-listen-address=127.0.0.1:${ports.api}`, '-dev-root-token-id=root']
  const { config, problems } = loadServerConfig(flags, { VAULT_LOCAL_CONFIG: JSON.stringify({ ...own, ...settings }) })
  if (!config) throw new Error(JSON.stringify(problems))
  const data = openMemoryGenerations()
  const server = await Server.start({ config, log: silentLog, openStorage: async () => data })
  const client = new ApiClient({ address: own.api_addr, token: 'root' })
  return {
    client,
    async [Symbol.asyncDispose]() {
      client.close()
      await server.close(0)
    },
  }
}

import { readFileSync } from 'node:fs'
import { systemClock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import { formatHostPort, parseHostPort } from '../../base/network.js'
import { quoteForShell } from '../../base/shell.js'
import { ApiClient } from '../../client/api-client.js'
import { waitFor } from '../../lab/requests/wait.js'
import type { ServerConfig } from '../../server/config/config.js'
import { createCopyStorage } from '../../server/data/server-storage.js'
import { SharedMemory } from '../../server/data/shared-memory.js'
import type { DevCertificates } from '../../server/dev/dev.js'
import { startServerFrom } from '../../server/start.js'
import type { Server } from '../../server/server.js'

/** The servers that run in this process: one server, or the nodes of one cluster. */
export interface RunningServers extends Pick<Server, 'addresses' | 'reload'> {
  /** Lines to print at the start. */
  readonly description: readonly string[]
  close(): Promise<void>
}

/** The distance from a node's API port to its cluster port, as in Vault. */
const CLUSTER_PORT_DISTANCE = 105
/** Maximum time until a node is unsealed. */
const TIMEOUT_MS = 60_000
/** The `sys/health` statuses of an active node, a standby and a performance standby. */
const UNSEALED = [200, 429, 473]

/**
 * Starts the nodes of `-dev-three-node`: one initialized and unsealed cluster with a shared log in memory. If a node
 * cannot start, closes all nodes and rejects with StartFailure.
 */
export const startDevNodes = async (
  config: ServerConfig,
  log: Log,
  certificates: DevCertificates | undefined,
): Promise<RunningServers> => {
  const shared = new SharedMemory({ clock: systemClock, leaseMs: config.own.leaderLeaseMs })
  const servers: Server[] = []
  const close = async () => {
    // The first node is active and is closed last, so that no standby starts an election.
    for (const server of [...servers].reverse()) await server.close()
  }
  try {
    for (const own of nodeConfigs(config)) {
      const storage = createCopyStorage()
      const openStorage = () => storage.open()
      servers.push(await startServerFrom(own, log, { sharedLog: shared.connect(systemClock), openStorage }))
    }
    const caPem = certificates && readFileSync(certificates.caFile, 'utf8')
    const clients = nodeConfigs(config).map(({ apiAddress }) => new ApiClient({ address: apiAddress, caPem }))
    const secrets = await openNodes(clients, config)
    for (const client of clients) client.close()
    return {
      addresses: servers.flatMap(({ addresses }) => addresses),
      description: describe(nodeConfigs(config), secrets, certificates),
      reload: async () => {
        for (const server of servers) await server.reload()
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Returns the configuration of each node. The ports of the other nodes follow the ports of the first node. */
const nodeConfigs = (config: ServerConfig): readonly ServerConfig[] => {
  const [listener] = config.listeners
  if (!listener) throw new Error('-dev-three-node requires a listener')
  const { host, port } = parseHostPort(listener.address)
  if (port === 0) throw new Error('-dev-three-node requires a port other than 0 in -dev-listen-address')
  const apiHost = new URL(config.apiAddress).hostname
  return Array.from({ length: config.dev?.nodes ?? 1 }, (_, at) => {
    const clusterPort = port + CLUSTER_PORT_DISTANCE + at
    return {
      ...config,
      dev: undefined,
      listeners: [{ ...listener, address: formatHostPort(host, port + at) }],
      apiAddress: `https://${apiHost}:${port + at}`,
      clusterAddress: `https://${apiHost}:${clusterPort}`,
      clusterBindAddress: formatHostPort(host, clusterPort),
      storage: { label: 'inmem_ha', path: undefined, nodeId: `core-${at}` },
    }
  })
}

type Secrets = Awaited<ReturnType<typeof openNodes>>

/** Initializes the cluster and unseals all nodes. Resolves when one node is active and the others are its standbys. */
const openNodes = async (clients: readonly ApiClient[], { dev }: ServerConfig) => {
  const [first] = clients
  if (!first) throw new Error('-dev-three-node requires a node')
  const made = await first.call('PUT', 'sys/init', { body: { secret_shares: 1, secret_threshold: 1 } })
  const [unsealKey] = made.keys_base64 as [string]
  for (const client of clients) {
    await client.call('PUT', 'sys/unseal', { body: { key: unsealKey } })
    // Waits for each node before it unseals the next one, so that the first node becomes active.
    const isOpen = async () => {
      const { status } = await client.send('GET', 'sys/health')
      return UNSEALED.includes(status) ? undefined : `sys/health returns ${status}`
    }
    await waitFor(systemClock, `the node at ${client.address} to be unsealed`, isOpen, TIMEOUT_MS)
  }
  const root = first.with({ token: String(made.root_token) })
  const id = dev?.rootTokenId ?? ''
  if (id !== '') await root.call('POST', 'auth/token/create', { body: { id, policies: ['root'], no_parent: true } })
  const version = dev?.kvVersion
  if (version) await root.call('POST', 'sys/mounts/secret', { body: { type: 'kv', options: { version } } })
  return { rootToken: id || String(made.root_token), unsealKey }
}

const describe = (
  nodes: readonly ServerConfig[],
  { rootToken, unsealKey }: Secrets,
  certificates: DevCertificates | undefined,
): readonly string[] => {
  const [first] = nodes
  return [
    '==> Understudy server configuration:',
    '',
    `  Cluster parameters path: ${certificates?.directory}`,
    ...nodes.map(({ apiAddress }, at) => `       Node ${at} API Address: ${apiAddress}`),
    '',
    'WARNING! Development mode: three nodes in memory, one key share, and the root token below. Not for real secrets.',
    '',
    `Unseal Key: ${unsealKey}`,
    `Root Token: ${rootToken}`,
    '',
    'Useful env vars:',
    `export VAULT_TOKEN=${quoteForShell(rootToken)}`,
    `export VAULT_ADDR=${quoteForShell(first?.apiAddress ?? '')}`,
    ...(certificates ? [`export VAULT_CACERT=${quoteForShell(certificates.caFile)}`] : []),
  ]
}

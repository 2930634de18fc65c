import type { Log } from '../base/log.js'
import { LogicalError } from '../logical/errors.js'
import type { ServerConfig } from './config.js'
import { Server } from './server.js'

/** Why a server did not start: `taken` means that a port or the data directory belongs to somebody else. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure'
  readonly reason: 'taken' | 'failed'

  constructor(reason: 'taken' | 'failed', message: string, cause: unknown) {
    super(message, { cause })
    this.reason = reason
  }
}

/** Starts a server; rejects with StartFailure. */
export const startServerFrom = async (config: ServerConfig, log: Log): Promise<Server> => {
  try {
    return await Server.start({ config, log })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EADDRINUSE') {
      const { address, port } = error as Error & { address?: string; port?: number }
      throw new StartFailure('taken', `the address ${address ?? ''}:${port ?? ''} is taken by another process`, error)
    }
    const message = error instanceof Error ? error.message : String(error)
    const isLocked = error instanceof LogicalError && error.code === 'unavailable'
    throw new StartFailure(isLocked ? 'taken' : 'failed', message, error)
  }
}

/** The banner: what runs, where, with which data, seal and replication; in dev mode how to get in. */
export const describeServer = (server: Server, config: ServerConfig): string[] => {
  const rows: [string, string][] = [
    ['Version', `Understudy, an independent simulator (reports v${config.own.reportedVersion})`],
    ...server.addresses.map((address, index): [string, string] => [
      'Listener',
      `tcp (${config.listeners[index]?.tls ? 'https' : 'http'}://${address})`,
    ]),
    ['Cluster address', `${config.clusterAddress} (bound to ${config.clusterBindAddress})`],
    ['API address', config.apiAddress],
    [
      'Storage',
      config.storage.path === undefined
        ? `${config.storage.label} (in memory)`
        : `${config.storage.label} (${config.storage.path})`,
    ],
    ['Seal', config.seal.type === 'shamir' ? 'shamir' : config.seal.name],
    ['License', config.own.license],
    ['Log level', config.log.level],
  ]
  if (config.seal.type === 'auto' && config.seal.key === undefined) {
    rows.push(['WARNING', `the seal "${config.seal.name}" is simulated: its key lies in a file beside the data`])
  }
  if (!config.own.syncWrites) rows.push(['WARNING', 'sync_writes is off: answered writes may be lost with the power'])
  const width = Math.max(...rows.map(([name]) => name.length))
  return [
    '==> Understudy server configuration:',
    '',
    ...rows.map(([name, value]) => `${name.padStart(width + 1)}: ${value}`),
    ...describeDev(server, config),
  ]
}

const describeDev = (server: Server, config: ServerConfig): string[] => {
  const secrets = server.devSecrets
  if (!secrets) return []
  return [
    '',
    'WARNING! Development mode: one key share, unsealed from the start, and the root token below. Not for real secrets.',
    '',
    `    $ export VAULT_ADDR='${config.listeners[0]?.tls ? 'https' : 'http'}://${server.addresses[0]}'`,
    '',
    `Unseal Key: ${Buffer.from(secrets.unsealKey, 'hex').toString('base64')}`,
    `Root Token: ${secrets.rootToken}`,
  ]
}

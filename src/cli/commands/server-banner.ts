import { quoteForShell } from '../../base/shell.js'
import type { ServerConfig } from '../../server/config/config.js'
import type { DevCertificates } from '../../server/dev/dev.js'
import type { Server } from '../../server/server.js'

const describeStorage = ({ label, path, etcd }: ServerConfig['storage']): string => {
  if (etcd) return `${label} (${etcd.addresses.join(', ')} below ${etcd.prefix})`
  return `${label} (${path ?? 'in memory'})`
}

const describeSeal = (seal: ServerConfig['seal']): string => {
  if (seal.type !== 'transit') return seal.type === 'shamir' ? 'shamir' : seal.name
  return `transit (${seal.address}, key ${seal.keyName} of ${seal.mountPath})`
}

/** Returns the banner: version, addresses, data, seal and replication, and in dev mode how to sign in. */
export const describeServer = (server: Server, config: ServerConfig, certificates?: DevCertificates): string[] => {
  const rows: [string, string][] = [
    ['Version', `Understudy, an independent simulator (reports v${config.own.reportedVersion})`],
    ...server.addresses.map((address, index): [string, string] => [
      'Listener',
      `tcp (${config.listeners[index]?.tls ? 'https' : 'http'}://${address})`,
    ]),
    ['Cluster address', `${config.clusterAddress} (bound to ${config.clusterBindAddress})`],
    ['API address', config.apiAddress],
    ['Storage', describeStorage(config.storage)],
    ['Seal', describeSeal(config.seal)],
    ['License', config.own.license],
    ['Log level', config.log.level],
  ]
  if (config.seal.type === 'auto' && config.seal.key === undefined) {
    rows.push(['WARNING', `the seal "${config.seal.name}" is simulated: its key is in a file next to the data`])
  }
  if (!config.own.syncWrites) rows.push(['WARNING', 'sync_writes is off: a power failure may lose acknowledged writes'])
  const width = Math.max(...rows.map(([name]) => name.length))
  return [
    '==> Understudy server configuration:',
    '',
    ...rows.map(([name, value]) => `${name.padStart(width + 1)}: ${value}`),
    ...describeDev(server, config, certificates),
  ]
}

const describeDev = (server: Server, config: ServerConfig, certificates?: DevCertificates): string[] => {
  const secrets = server.devSecrets
  if (!secrets) return []
  return [
    '',
    'WARNING! Development mode: one key share, unsealed from the start, and the root token below. Not for real secrets.',
    '',
    `    $ export VAULT_ADDR=${quoteForShell(`${config.listeners[0]?.tls ? 'https' : 'http'}://${server.addresses[0]}`)}`,
    ...(certificates
      ? [
          `    $ export VAULT_CACERT=${quoteForShell(certificates.caFile)}`,
          '',
          `Certificate: ${certificates.certFile}`,
          `Private key: ${certificates.keyFile}`,
        ]
      : []),
    '',
    `Unseal Key: ${Buffer.from(secrets.unsealKey, 'hex').toString('base64')}`,
    `Root Token: ${secrets.rootToken}`,
  ]
}

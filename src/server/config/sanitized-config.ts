import type { JsonObject } from '../../logical/json.js'
import type { ServerConfig } from './config.js'

/** Returns the data of `sys/config/state/sanitized`: the configuration without secrets. */
export const sanitizeConfig = (config: ServerConfig): JsonObject => ({
  api_addr: config.apiAddress,
  cluster_addr: config.clusterAddress,
  cluster_name: config.clusterName,
  default_lease_ttl: config.defaultLeaseTtlSeconds,
  max_lease_ttl: config.maxLeaseTtlSeconds,
  disable_mlock: true,
  listeners: config.listeners.map(({ address, tls }) => ({
    type: 'tcp',
    config: { address, tls_disable: tls === undefined },
  })),
  log_format: config.log.format ?? 'json',
  log_level: config.log.level,
  seals: [{ type: config.seal.type === 'shamir' ? 'shamir' : config.seal.name, disabled: false }],
  storage: {
    type: config.storage.label,
    cluster_addr: config.clusterAddress,
    redirect_addr: config.apiAddress,
    disable_clustering: config.disableClustering,
  },
})

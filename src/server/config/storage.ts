import type { StorageConfig } from './config.js'
import { resolveEtcd } from './etcd-storage.js'
import { resolveRetryJoin } from './retry-join.js'
import type { ConfigSources } from './sources.js'
import { MEMORY_LABELS, STORAGE_LABELS } from './tables.js'
import { DEFAULT_ORIGIN, fromFlag, fromVariable } from './resolved-settings.js'

/** Resolves the location of the data, and the storage type that the API reports. */
export const resolveStorage = (sources: ConfigSources): StorageConfig => {
  const { flags, env, files, settled, findings } = sources
  const stanza = files.storage
  if (files.haStorage) {
    findings.problems.push({
      origin: files.haStorage.origin,
      text: 'ha_storage is not supported: what nodes share is one storage, as storage "etcd"',
    })
  }
  const label = stanza?.label ?? (flags.dev ? (flags.dataDir ? 'leveldb' : flags.devLabel) : 'inmem')
  settled.note('storage', label, stanza?.origin ?? (flags.dev ? '-dev' : DEFAULT_ORIGIN))
  const nodeIds = [fromVariable(env, 'VAULT_RAFT_NODE_ID'), stanza?.values.node_id]
  const nodeId = settled.text('storage.node_id', nodeIds, 'node1') || 'node1'
  const dataDir = fromFlag('-data-dir', flags.dataDir)
  if (!stanza) {
    if (!flags.dev && flags.configs.length > 0 && files.isWhole)
      findings.problems.push({ origin: flags.configs.join(', '), text: 'a storage stanza is required' })
    const path = flags.dev && dataDir ? settled.text('storage.path', [dataDir]) : undefined
    return { label, path, nodeId }
  }
  const { origin } = stanza
  if (!STORAGE_LABELS.has(label)) {
    const known = [...STORAGE_LABELS].filter((name) => name !== 'inmem_ha').join(', ')
    findings.problems.push({ origin, text: `storage "${label}" is not supported; supported are ${known}` })
  }
  if (label === 'etcd') return { label, path: undefined, nodeId, etcd: resolveEtcd(stanza, sources) }
  if (MEMORY_LABELS.has(label)) return { label, path: undefined, nodeId }
  const path = settled.text('storage.path', [dataDir, fromVariable(env, 'VAULT_RAFT_PATH'), stanza.values.path])
  if (path === '' && STORAGE_LABELS.has(label))
    findings.problems.push({ origin, text: `storage "${label}" needs a path` })
  return { label, path, nodeId, retryJoin: resolveRetryJoin(stanza, sources) }
}

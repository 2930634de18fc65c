import { isListed } from '../logical/dispatch.js'
import { invalid } from '../logical/errors.js'

/** Paths below `sys/` that exist in the root namespace alone: they concern the cluster as a whole. */
const ROOT_NAMESPACE_ONLY = [
  'init',
  'unseal',
  'seal',
  'step-down',
  'rotate',
  'rekey/*',
  'rekey-recovery-key/*',
  'generate-root/*',
  'generate-root-token/*',
  'audit',
  'audit/*',
  'audit-hash/*',
  'storage/*',
  'metrics',
  'license/*',
  'config/auditing/*',
  'config/state/*',
  'host-info',
  'in-flight-req',
  'replication/primary/*',
  'replication/secondary/*',
  'replication/recover',
  'replication/reindex',
  'replication/merkle-check',
  'replication/dr/primary/*',
  'replication/dr/secondary/*',
  'replication/dr/reindex',
  'replication/performance/primary/*',
  'replication/performance/secondary/*',
  'replication/performance/reindex',
] as const

export const refuseOutsideRoot = (path: string): void => {
  if (path.startsWith('sys/') && isListed(ROOT_NAMESPACE_ONLY, path.slice('sys/'.length))) {
    throw invalid('operation unavailable in namespaces')
  }
}

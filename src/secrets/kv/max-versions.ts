import type { KvConfig } from './config.js'
import type { KeyMetadata } from './metadata.js'

const DEFAULT_MAX_VERSIONS = 10

/** As many versions are kept as the key or its mount says, whichever says more. Returns the numbers of those taken out. */
export const dropOldVersions = (metadata: KeyMetadata, config: KvConfig): number[] => {
  const kept = Math.max(metadata.maxVersions, config.maxVersions) || DEFAULT_MAX_VERSIONS
  const numbers = Object.keys(metadata.versions)
  if (numbers.length <= kept) return []
  metadata.oldestVersion = metadata.currentVersion - kept + 1
  const dropped = numbers.map(Number).filter((number) => number < metadata.oldestVersion)
  for (const number of dropped) delete metadata.versions[number]
  return dropped
}

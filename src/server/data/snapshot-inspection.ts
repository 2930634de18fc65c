import { readSnapshot, verifySnapshot } from '../../storage/store/snapshot-file.js'

interface SnapshotSummary {
  readonly clusterId: string
  readonly index: number
  /** Number and bytes of the records, by the first segment of their keys. */
  readonly parts: readonly { readonly name: string; readonly count: number; readonly bytes: number }[]
}

/**
 * Summarizes a snapshot file without the keys of its cluster. Rejects with `LogicalError` (status 400) if the file is
 * incomplete.
 */
export const inspectSnapshot = async (file: Buffer): Promise<SnapshotSummary> => {
  const { meta } = await verifySnapshot(file)
  const parts = new Map<string, { name: string; count: number; bytes: number }>()
  for await (const chunk of readSnapshot(file)) {
    for (const { key, value } of chunk) {
      const name = key.split('/', 1).join('')
      const part = parts.get(name) ?? { name, count: 0, bytes: 0 }
      part.count += 1
      part.bytes += Buffer.byteLength(key) + value.length
      parts.set(name, part)
    }
  }
  const bySize = [...parts.values()].sort((a, b) => b.bytes - a.bytes || a.name.localeCompare(b.name))
  return { clusterId: meta.clusterId, index: meta.index, parts: bySize }
}

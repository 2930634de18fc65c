import { readSnapshot, verifySnapshot } from '../../storage/store/snapshot-file.js'

interface SnapshotSummary {
  readonly clusterId: string
  /** Index of the log at which it was taken. */
  readonly index: number
  /** Of the records, by what their keys begin with. */
  readonly parts: readonly { readonly name: string; readonly count: number; readonly bytes: number }[]
}

/** What is in the file of a snapshot, as far as that can be told without its keys. LogicalError 400 where it is not whole. */
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

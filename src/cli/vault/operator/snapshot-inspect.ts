import { readNamedFile } from '../../../base/named-file.js'
import { LIMITS } from '../../../base/limits.js'
import { inspectSnapshot } from '../../../server/data/snapshot-inspection.js'
import { localError, messageOf } from '../model/cli-error.js'
import { type Command, defineCommand } from '../command.js'
import { formatPairs, formatTable, type Row } from '../render/columns.js'

/** Reads the file locally: its description needs no key. */
export const snapshotInspectCommand: Command = defineCommand({
  name: 'operator raft snapshot inspect',
  takes: 'FILE',
  count: [1, 1],
  summary: 'Tell what is in the file of a snapshot',
  run: async ({ out, args: [file = ''] }) => {
    const { clusterId, index, parts } = await inspect(file)
    const total = (of: 'count' | 'bytes') => parts.reduce((sum, part) => sum + part[of], 0)
    const record = { cluster_id: clusterId, index, size: total('bytes'), count: total('count'), parts: [...parts] }
    const rows = parts.map(({ name, count, bytes }): Row => [name, String(count), String(bytes)])
    const head: Row[] = [
      ['Cluster ID', clusterId],
      ['Index', String(index)],
      ['Size', String(record.size)],
    ]
    return out.record(record, () =>
      [
        formatPairs(head),
        '',
        formatTable(['Key Name', 'Count', 'Size'], [...rows, ['Total', String(record.count), String(record.size)]]),
      ].join('\n'),
    )
  },
})

const inspect = async (file: string) => {
  try {
    return await inspectSnapshot(readNamedFile(file, LIMITS.snapshotBytesMax))
  } catch (error) {
    throw localError(`The snapshot file cannot be used: ${messageOf(error)}`, error)
  }
}

import type { Entry } from '../../engine/engine.js'
import { positionAfter } from '../raw-batch.js'
import type { Compare, RequestOp } from './etcd-api.js'
import { refuseWhenFull } from './etcd-connection.js'
import { type EtcdWork, forgetUpTo } from './etcd-forgetting.js'
import { EtcdImageWriter } from './etcd-image-writer.js'
import { encodeMark, type ImageMark, type LogMark, parseMark } from './etcd-layout.js'

interface Forgetting extends EtcdWork {
  /** Changes keys that no reader uses. Resolves to the revision of the change. Rejects if another node leads. */
  readonly change: (operations: readonly RequestOp[]) => Promise<string>
}

interface ReplacementOptions extends Forgetting {
  readonly term: string
  /** The end of the log. No entry is appended during the replacement. */
  readonly end: LogMark
  readonly isEnd: Compare
}

/**
 * Replaces the data of the cluster. First writes the new image, which no node reads yet. Then, in one transaction,
 * activates this image and deletes the log entries. Finally deletes the old data, compacts etcd and defragments the
 * members. Resolves to the position of the new image, or to undefined if another node is the leader. After a crash, the
 * cluster has either the old or the new data.
 */
export const replaceContent = async (
  options: ReplacementOptions,
  base: ImageMark,
  content: AsyncIterable<readonly Entry[]>,
): Promise<ImageMark | undefined> => {
  const { layout, change, end } = options
  const life = base.life + 1
  const image = layout.image(life)
  const writer = new EtcdImageWriter(image, (operations) => change(operations).catch(refuseWhenFull))
  await change([{ request_delete_range: image.all }])
  for await (const chunk of content) await writer.write(chunk.map(({ key, value }) => [key, value] as const))
  const next = { ...positionAfter(end), bytes: end.bytes, life }
  if (!(await activate(options, next))) return undefined
  await forgetOthers(options, life)
  return next
}

const activate = async (
  { connection, layout, term, ended, isEnd }: ReplacementOptions,
  next: ImageMark,
): Promise<boolean> => {
  const { life: _, ...end } = next
  const leads: Compare = { target: 'CREATE', key: layout.leader, create_revision: term }
  const success = [
    { request_put: { key: layout.base, value: encodeMark(next) } },
    { request_put: { key: layout.end, value: encodeMark(end) } },
    ...layout.entries.map((range) => ({ request_delete_range: range })),
  ]
  const failure = [{ request_range: { key: layout.base } }]
  const { succeeded, responses } = await connection.ask('Txn', { compare: [leads, isEnd], success, failure }, ended)
  // If etcd executed the transaction before a retry, it has stored the new position already.
  return succeeded || parseMark(responses[0]?.response_range?.kvs[0]?.value).hash.equals(next.hash)
}

/** Deletes the images of other data lives, and removes them from the files of the members. Logs a failed removal. */
export const forgetOthers = async (options: Forgetting, life: number): Promise<void> => {
  const { layout, change, ended, log } = options
  const revision = await change(layout.withoutOthers(life))
  await forgetUpTo(options, revision).catch((error: unknown) => {
    if (!ended.aborted) log.error('cannot remove replaced data from the files of etcd', { error })
  })
}

import { KEYS } from '../../storage/key-families.js'
import type { ReplicableStore } from '../../storage/replicable.js'

const READ_BYTES = 1024 * 1024

/** What the keys of the data of these mounts begin with. */
export const prefixesOf = (mounts: ReadonlySet<string>): readonly string[] =>
  [...mounts].flatMap((uuid) => [KEYS.secretData, KEYS.authData].map((prefix) => `${prefix}${uuid}/`))

/** Whether the log of this cluster names data of these mounts, which may be deleted by now. Keys stand in it as they are. */
export const isInLog = async (
  store: Pick<ReplicableStore, 'firstIndex' | 'framesAfter'>,
  mounts: ReadonlySet<string>,
): Promise<boolean> => {
  if (mounts.size === 0) return false
  const prefixes = prefixesOf(mounts)
  for (let index = store.firstIndex - 1; ; ) {
    const frames = await store.framesAfter(index, READ_BYTES)
    if (frames && frames.length === 0) return false
    if (frames?.some(({ bytes }) => prefixes.some((prefix) => bytes.includes(prefix)))) return true
    // What was trimmed meanwhile is none of it.
    index = frames?.at(-1)?.lastIndex ?? store.firstIndex - 1
  }
}

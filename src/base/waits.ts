import { channel } from 'node:diagnostics_channel'

/** A condition that an operation waits for, for progress messages. */
interface Wait {
  readonly what: string
  /** The condition that is still false; empty before the first check. */
  missing: string
}

const BEGINS = channel('understudy.wait.begins')
const ENDS = channel('understudy.wait.ends')

/** Runs long work and reports to listeners what it waits for. Stores nothing without listeners. */
export const whileWaiting = async <T>(what: string, work: (wait: Wait) => Promise<T>): Promise<T> => {
  const wait: Wait = { what, missing: '' }
  BEGINS.publish(wait)
  try {
    return await work(wait)
  } finally {
    ENDS.publish(wait)
  }
}

/** Collects the waits of this process, latest last, until it is disposed. */
export const listenToWaits = (): { readonly waits: ReadonlySet<Wait> } & Disposable => {
  const waits = new Set<Wait>()
  const add = (wait: unknown) => void waits.add(wait as Wait)
  const remove = (wait: unknown) => void waits.delete(wait as Wait)
  BEGINS.subscribe(add)
  ENDS.subscribe(remove)
  return {
    waits,
    [Symbol.dispose]() {
      BEGINS.unsubscribe(add)
      ENDS.unsubscribe(remove)
    },
  }
}

import { channel } from 'node:diagnostics_channel'

/** Something that a piece of work waits for, as people are told of it. */
export interface Wait {
  readonly what: string
  /** The condition that is still false; empty while nobody has looked. */
  missing: string
}

const BEGINS = channel('understudy.wait.begins')
const ENDS = channel('understudy.wait.ends')

/** Does work that may take long, and tells those who listen what it waits for. Nothing is kept when nobody listens. */
export const whileWaiting = async <T>(what: string, work: (wait: Wait) => Promise<T>): Promise<T> => {
  const wait: Wait = { what, missing: '' }
  BEGINS.publish(wait)
  try {
    return await work(wait)
  } finally {
    ENDS.publish(wait)
  }
}

/** Collects the waits of this process, the latest last, from now on until it is disposed of. */
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

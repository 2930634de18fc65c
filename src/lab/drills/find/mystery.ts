import type { LiveLab } from '../../live/live-lab.js'
import type { Tie } from './ties.js'

/** Where a fault is: on a tie, or on the cluster that is named as its secondary. */
export interface Place extends Tie {
  /** The direction of what has two. */
  readonly isBackwards: boolean
}

/** A fault that is planted without a word, and how it is known to be mended. */
export interface Mystery {
  readonly name: string
  /** Ties on which it can be planted. */
  fits(tie: Tie): boolean
  plant(lab: LiveLab, place: Place): Promise<void>
  /** Whether the fault is still there. Rejects when that cannot be told, which counts as still there. */
  isThere(lab: LiveLab, place: Place): Promise<boolean>
  /** The solution, for whoever found it or gave up. */
  tell(place: Place): Told
}

export interface Told {
  readonly what: string
  /** Where one sees the fault. */
  readonly seen: string
  /** The remedy: commands of ours, without the name of the program and that of the lab. */
  readonly mend: readonly string[]
}

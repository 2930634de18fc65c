import type { LiveLab } from '../../live/live-lab.js'
import type { Tie } from './ties.js'

/** The location of a fault: a replication link, or the secondary cluster of that link. */
export interface Place extends Tie {
  /** Whether a one-way fault affects the reverse direction. */
  readonly isBackwards: boolean
}

/** A fault that can be injected secretly, and the check for its presence. */
export interface Mystery {
  readonly name: string
  /** Whether the fault can be injected on this replication link. */
  fits(tie: Tie): boolean
  plant(lab: LiveLab, place: Place): Promise<void>
  /** Whether the fault is still present. Rejects if that is unknown; callers then treat it as present. */
  isThere(lab: LiveLab, place: Place): Promise<boolean>
  /** Returns the solution. */
  tell(place: Place): Told
}

export interface Told {
  readonly what: string
  /** Where the fault is visible. */
  readonly seen: string
  /** The fix: Understudy commands without the program name and the lab name. */
  readonly mend: readonly string[]
}

import { LabError } from '../model/lab-error.js'

/**
 * One direction of a link: `up` is traffic from the dialing side, `down` traffic to it.
 *
 * @example
 * import { type Direction, startLab } from 'understudy-lab'
 *
 * const directions: readonly Direction[] = ['up', 'down']
 * await using lab = await startLab('pr')
 * for (const direction of directions) lab.link('A', 'C').setFault('latency', { ms: 40 }, direction)
 */
export type Direction = 'up' | 'down'

/**
 * One direction of a link, or both.
 *
 * @example
 * import { startLab, type Way } from 'understudy-lab'
 *
 * const way: Way = 'both'
 * await using lab = await startLab('pr')
 * lab.link('A', 'C').hold(way)
 * lab.link('A', 'C').release(way)
 */
export type Way = Direction | 'both'

const DIRECTIONS: readonly Direction[] = ['up', 'down']

/** Throws LabError `usage` for an unknown direction, which the compiler does not catch in JavaScript. */
export const directionsOf = (way: Way): readonly Direction[] => {
  if (way === 'both') return DIRECTIONS
  if (DIRECTIONS.includes(way)) return [way]
  throw new LabError('usage', `a way of a link is ${DIRECTIONS.join(', ')} or both, not "${String(way)}"`)
}

/**
 * How a direction treats traffic. `held`: data waits, resets pass. `partitioned`: neither data nor connection ends pass, as with
 * a cut cable; data that TCP would retransmit arrives after healing.
 */
export type Passage = 'open' | 'held' | 'partitioned'

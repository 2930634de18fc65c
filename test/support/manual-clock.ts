import { SimulatedClock } from '../../src/server/simulated/simulated-clock.js'

/** A clock that moves only by `advance`. Its timers fire without delay. */
export class ManualClock extends SimulatedClock {
  constructor(startMs?: number) {
    super({ next: () => 0 }, startMs)
  }
}

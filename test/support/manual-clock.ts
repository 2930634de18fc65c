import { SimulatedClock } from '../../src/server/simulated/simulated-clock.js'

/** A clock that moves only when it is told to (`advance`), and whose timers are never late. */
export class ManualClock extends SimulatedClock {
  constructor(startMs?: number) {
    super({ next: () => 0 }, startMs)
  }
}

type SignalAction = (signal: NodeJS.Signals) => void

/**
 * Handles SIGTERM, SIGINT and SIGHUP for the lifetime of the process. The action is replaced, not the listener: a
 * signal between the removal of one listener and the addition of another would be lost.
 */
export class StopSignals {
  #stop: SignalAction
  #hangUp: (() => void) | undefined
  #isHangUpPending = false

  /** `stop`: the action of SIGTERM and SIGINT until `onStop` is called. A SIGHUP stays pending until `onHangUp`. */
  constructor(stop: SignalAction) {
    this.#stop = stop
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, (signal) => this.#stop(signal))
    process.on('SIGHUP', () => {
      if (this.#hangUp) this.#hangUp()
      else this.#isHangUpPending = true
    })
  }

  onStop(stop: SignalAction): void {
    this.#stop = stop
  }

  /** Sets the action of SIGHUP, and runs it at once if a SIGHUP is pending. */
  onHangUp(action: () => void): void {
    this.#hangUp = action
    if (this.#isHangUpPending) action()
  }
}

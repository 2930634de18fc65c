type Act = (signal: NodeJS.Signals) => void

/**
 * Handles SIGTERM, SIGINT and SIGHUP for the lifetime of the process. The action is replaced, not the listener: a
 * signal between the removal of one listener and the addition of another would be lost.
 */
export class StopSignals {
  #stop: Act
  #hangUp: (() => void) | undefined
  #isHangUpPending = false

  /** `stop`: the action of SIGTERM and SIGINT until `onStop` is called. A SIGHUP stays pending until `onHangUp`. */
  constructor(stop: Act) {
    this.#stop = stop
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, (signal) => this.#stop(signal))
    process.on('SIGHUP', () => {
      if (this.#hangUp) this.#hangUp()
      else this.#isHangUpPending = true
    })
  }

  onStop(stop: Act): void {
    this.#stop = stop
  }

  onHangUp(act: () => void): void {
    this.#hangUp = act
    if (this.#isHangUpPending) act()
  }
}

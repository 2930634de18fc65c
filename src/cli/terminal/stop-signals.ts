type Act = (signal: NodeJS.Signals) => void

/**
 * Hears SIGTERM, SIGINT and SIGHUP for the life of the process. What they do is replaced, never the listener: a signal that
 * arrives while one listener is removed and the next one is added is lost.
 */
export class StopSignals {
  #stop: Act
  #hangUp: (() => void) | undefined
  #isHangUpPending = false

  /** `stop`: what SIGTERM and SIGINT do until `onStop` is called. SIGHUP waits for `onHangUp`. */
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

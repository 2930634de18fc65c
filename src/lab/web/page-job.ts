export interface PageLine {
  /** `said`: a message. `call`: the shell command that is equivalent to a request. */
  readonly kind: 'said' | 'call'
  readonly text: string
}

/** An action that was started on the page, with its progress and result. */
export interface PageJob {
  readonly id: number
  readonly title: string
  readonly command: string | null
  readonly state: 'running' | 'done' | 'failed' | 'stopped'
  /** Oldest first. */
  readonly lines: readonly PageLine[]
  /** The result or the error. Empty while the action runs. */
  readonly outcome: string
  /** Milliseconds. Null while the action runs. */
  readonly tookMs: number | null
  readonly canBeStopped: boolean
  readonly drill: PageDrill | null
}

export interface PageDrill {
  readonly name: string
  readonly purpose: string
  readonly steps: readonly PageStep[]
  readonly expectations: readonly {
    readonly text: string
    readonly passed: boolean
    readonly evidence: readonly string[]
  }[]
}

export interface PageStep {
  readonly name: string
  readonly state: 'waiting' | 'running' | 'passed' | 'failed' | 'skipped'
  /** Milliseconds. Null until the step ends. */
  readonly tookMs: number | null
  readonly error: string | null
  readonly commands: readonly string[]
}

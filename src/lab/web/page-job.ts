export interface PageLine {
  /** `call`: the shell command that is equivalent to a request. */
  readonly kind: 'said' | 'call'
  readonly text: string
}

/** An action from the page, with its result. */
export interface PageJob {
  readonly id: number
  readonly title: string
  readonly command: string | null
  readonly state: 'running' | 'done' | 'failed' | 'stopped'
  /** Oldest first. */
  readonly lines: readonly PageLine[]
  /** The result or the error. Empty while it runs. */
  readonly outcome: string
  /** Null while it runs. */
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
  /** Null before its end. */
  readonly tookMs: number | null
  readonly error: string | null
  readonly commands: readonly string[]
}

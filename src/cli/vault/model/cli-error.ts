/** Exit codes of Vault. */
export const VAULT_EXIT = { ok: 0, local: 1, remote: 2 } as const

/** Ends a command: the text goes to standard error, the exit code to the caller. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly status: number
  /** The error response of a server, if there is one. */
  readonly answer: { readonly status: number; readonly texts: readonly string[] } | undefined

  constructor(status: number, text: string, options: ErrorOptions & Pick<Partial<CliError>, 'answer'> = {}) {
    super(text, options)
    this.status = status
    this.answer = options.answer
  }
}

/** Creates an error of the caller or of this machine. No request was sent to the server. */
export const localError = (text: string, cause?: unknown): CliError => new CliError(VAULT_EXIT.local, text, { cause })

export const remoteError = (text: string, cause?: unknown): CliError => new CliError(VAULT_EXIT.remote, text, { cause })

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** What toxiproxy answers where it cannot do what it is asked: its words, and an HTTP status. */
export class ToxiproxyError extends Error {
  override readonly name = 'ToxiproxyError'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

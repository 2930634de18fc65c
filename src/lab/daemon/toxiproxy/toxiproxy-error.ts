/** An error with the message and HTTP status of Toxiproxy. */
export class ToxiproxyError extends Error {
  override readonly name = 'ToxiproxyError'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

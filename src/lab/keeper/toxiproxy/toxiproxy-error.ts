/** A refusal in the words of toxiproxy, with its HTTP status. */
export class ToxiproxyError extends Error {
  override readonly name = 'ToxiproxyError'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

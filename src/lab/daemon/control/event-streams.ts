import type http from 'node:http'
import type { EventLog } from '../../events/event-log.js'
import { LabError } from '../../model/lab-error.js'

const STREAMS_MAX = 32

/** Unsent bytes after which a slow reader is disconnected. It reconnects with the last event number that it received. */
const BEHIND_BYTES_MAX = 1024 * 1024

/** Readers that receive each event immediately as one line of JSON, until they disconnect. */
export class EventStreams {
  readonly #log: EventLog
  readonly #open = new Set<http.ServerResponse>()

  constructor(log: EventLog) {
    this.#log = log
  }

  /** Sends events after this number, then new ones. Throws a conflict if there are too many readers. */
  add(response: http.ServerResponse, after: number): void {
    if (this.#open.size >= STREAMS_MAX) throw new LabError('conflict', `${STREAMS_MAX} readers follow already`)
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
    response.flushHeaders()
    const send = ({ line }: { line: string }) => {
      response.write(`${line}\n`)
      if (response.writableLength > BEHIND_BYTES_MAX) response.destroy()
    }
    const stop = this.#log.listen(send)
    this.#open.add(response)
    response.on('error', () => undefined)
    response.on('close', () => {
      stop()
      this.#open.delete(response)
    })
    for (const event of this.#log.after(after)) send(event)
  }

  close(): void {
    for (const response of this.#open) response.destroy()
  }
}

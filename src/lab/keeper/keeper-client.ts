import http from 'node:http'
import { LabError } from '../lab-error.js'
import type { ActiveFault } from './active-fault.js'
import type { FaultRequest } from './keeper.js'

const ANSWER_MS = 5000

/** Talks to the keeper of a lab. Rejects with a conflict when none answers. */
export class KeeperClient {
  readonly #socket: string

  constructor(socket: string) {
    this.#socket = socket
  }

  async list(): Promise<readonly ActiveFault[]> {
    return ((await this.#send('GET', '/faults')) as { faults: ActiveFault[] }).faults
  }

  async set(request: FaultRequest): Promise<ActiveFault> {
    return (await this.#send('POST', '/faults', request)) as ActiveFault
  }

  /** Heals one fault, or all. */
  async heal(id?: number): Promise<readonly ActiveFault[]> {
    const path = id === undefined ? '/faults' : `/faults/${id}`
    return ((await this.#send('DELETE', path)) as { healed: ActiveFault[] }).healed
  }

  #send(method: string, path: string, body?: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error) =>
        reject(
          new LabError(
            'conflict',
            `the keeper of the lab does not answer, so every link is cut; "understudy start" brings it back: ${error.message}`,
            { cause: error },
          ),
        )
      const request = http.request({ socketPath: this.#socket, method, path, timeout: ANSWER_MS }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', fail)
        response.on('end', () => {
          const answer = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { errors?: string[] }
          if (response.statusCode === 200) resolve(answer)
          else reject(new LabError('usage', answer.errors?.join('; ') ?? `status ${response.statusCode}`))
        })
      })
      request.on('timeout', () => request.destroy(new Error(`nothing within ${ANSWER_MS} ms`)))
      request.on('error', fail)
      request.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }
}

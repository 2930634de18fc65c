import http from 'node:http'
import type { PageEvent, PageSurvey } from '../../src/lab/web/page-facts.js'
import type { PageJob } from '../../src/lab/web/page-job.js'

export interface PageAnswer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
}

export const ask = (
  link: string,
  headers: http.OutgoingHttpHeaders = {},
  method = 'GET',
  body?: string,
): Promise<PageAnswer> => {
  const { hostname, port, pathname, search } = new URL(link)
  return send({ hostname, port, path: pathname + search, method, headers }, body)
}

/** Requests a path without normalizing it. */
export const askRaw = ({ hostname, port }: URL, path: string, cookie: string): Promise<PageAnswer> =>
  send({ hostname, port, path, headers: { cookie } })

const send = (options: http.RequestOptions, body?: string): Promise<PageAnswer> =>
  new Promise((resolve, reject) => {
    const request = http.request({ ...options, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    request.on('error', reject)
    request.end(body)
  })

/** Collects the messages of the event feed until it is disposed. */
export class Listener implements Disposable {
  survey: PageSurvey | undefined
  gone: { reason: string } | undefined
  readonly events: PageEvent[] = []
  /** The last state of each job, by its ID. */
  readonly jobs = new Map<number, PageJob>()
  text = ''
  #rest = ''
  readonly #request: http.ClientRequest

  constructor(url: string, headers: http.OutgoingHttpHeaders) {
    this.#request = http.request(url, { headers, agent: false }, (response) => {
      response.on('error', () => undefined)
      response.setEncoding('utf8').on('data', (part: string) => this.#read(part))
    })
    this.#request.on('error', () => undefined)
    this.#request.end()
  }

  #read(part: string): void {
    this.text += part
    const messages = (this.#rest + part).split('\n\n')
    this.#rest = messages.pop() ?? ''
    for (const message of messages) {
      const fields = new Map(
        message.split('\n').map((line) => [line.split(': ', 1)[0], line.slice(line.indexOf(': ') + 2)]),
      )
      const value = JSON.parse(fields.get('data') ?? '{}')
      if (fields.get('event') === 'survey') this.survey = value
      if (fields.get('event') === 'gone') this.gone = value
      if (fields.get('event') === 'work') this.jobs.set((value as PageJob).id, value as PageJob)
      if (fields.get('event') === 'events') this.events.push(...value)
    }
  }

  [Symbol.dispose](): void {
    this.#request.destroy()
  }
}

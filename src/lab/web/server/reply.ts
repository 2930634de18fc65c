import type http from 'node:http'

/** A response of the page server. */
export interface Reply {
  readonly status: number
  readonly headers: http.OutgoingHttpHeaders
  readonly body?: string | Buffer
}

export const refusal = (status: number, text: string): Reply => ({
  status,
  headers: { 'Content-Type': 'text/plain; charset=utf-8' },
  body: `${text}\n`,
})

export const json = (status: number, value: unknown): Reply => ({
  status,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(value),
})

import { messageOf } from '../../../base/printable.js'
import type { ErrorRequestHandler, RequestHandler } from 'express'
import { ApiError, ApiUnreachable } from '../../../client/api-client.js'
import { LabError } from '../../model/lab-error.js'

export const READ_ONLY = 'this page is read-only'

/** An error response of the page server, with its HTTP status. */
export class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const STATUS = { usage: 400, conflict: 409, remote: 502, timeout: 504, interrupted: 500 } as const

/** Returns the HTTP status for an error. An error of a cluster, including a missing response, is 502. */
const statusOf = (error: unknown): number => {
  if (error instanceof LabError) return STATUS[error.code]
  if (error instanceof Refusal) return error.status
  return error instanceof ApiError || error instanceof ApiUnreachable ? 502 : 500
}

/** Makes `sendRefusal` send errors of this request as JSON, for the scripts of the page. */
export const refuseAsJson: RequestHandler = (_, response, next) => {
  response.locals.isJson = true
  next()
}

/** Sends an error as text, or as `errors` in JSON. */
export const sendRefusal: ErrorRequestHandler = (error: unknown, _, response, _next) => {
  if (response.headersSent) return void response.destroy()
  const text = messageOf(error)
  response.status(statusOf(error))
  if (response.locals.isJson) response.json({ errors: [text] })
  else response.type('text/plain').send(`${text}\n`)
}

import { IncomingMessage, type ServerOptions, ServerResponse } from 'node:http'
import express from 'express'

export type Middleware = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Calls `next` with what the middleware failed with, or with nothing when no middleware answered. */
export type App = (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void

/**
 * An Express application of one middleware, and the classes to create its server with. Express sets the prototypes of every
 * request and response, which costs most of the speed of the whole; as the classes already have those prototypes the
 * setting changes nothing.
 */
export const createApp = (middleware: Middleware): { app: App; classes: ServerOptions } => {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.disable('query parser')
  app.use(middleware)
  const classes = {
    IncomingMessage: withPrototype(IncomingMessage, app.request),
    ServerResponse: withPrototype(ServerResponse, app.response),
  }
  return { app: app as unknown as App, classes }
}

/** A constructor that makes what `base` makes, of another prototype. */
const withPrototype = <C extends new (...args: never[]) => object>(base: C, prototype: object): C => {
  function Derived(this: object, ...args: unknown[]): void {
    ;(base as unknown as (...args: unknown[]) => void).call(this, ...args)
  }
  Derived.prototype = prototype
  return Derived as unknown as C
}

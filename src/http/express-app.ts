import { IncomingMessage, type ServerOptions, ServerResponse } from 'node:http'
import express from 'express'

type Middleware = (request: IncomingMessage, response: ServerResponse) => void

/** Calls `next` with the middleware's error, or without arguments if no middleware responded. */
type App = (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void

/**
 * Creates an Express application with one middleware, and the classes to create its server with. Express sets the prototype
 * of every request and response, which would cost most of the throughput. These classes already have the prototypes of
 * Express, so setting them has no effect. The server uses no feature of Express, which is only there for further middleware.
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

/** Returns a constructor like `base` with another prototype. Both classes take at most two arguments. */
const withPrototype = <C extends new (...args: never[]) => object>(base: C, prototype: object): C => {
  const construct = base as unknown as (this: object, first: unknown, second: unknown) => void
  function Derived(this: object, first: unknown, second: unknown): void {
    construct.call(this, first, second)
  }
  Derived.prototype = prototype
  // As in a subclass: V8 sizes new objects by the fields of the whole constructor chain.
  Object.setPrototypeOf(Derived, base)
  return Derived as unknown as C
}

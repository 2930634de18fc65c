import { IncomingMessage, type ServerOptions, ServerResponse } from 'node:http'
import express from 'express'

type Middleware = (request: IncomingMessage, response: ServerResponse) => void

/** Calls `next` with what the middleware failed with, or with nothing when no middleware answered. */
type App = (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void

/**
 * An Express application of one middleware, and the classes to create its server with. Express sets the prototypes of every
 * request and response, which costs most of the speed of the whole; as the classes already have those prototypes the
 * setting changes nothing. One middleware needs no framework, and none of its features is used: Express is the place where
 * another middleware would be mounted, and as it is used here it costs nothing.
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

/** A constructor that makes what `base` makes, of another prototype. Both classes take two arguments at most. */
const withPrototype = <C extends new (...args: never[]) => object>(base: C, prototype: object): C => {
  const construct = base as unknown as (this: object, first: unknown, second: unknown) => void
  function Derived(this: object, first: unknown, second: unknown): void {
    construct.call(this, first, second)
  }
  Derived.prototype = prototype
  // As with a subclass: the engine sizes new objects by the fields of the whole chain of constructors.
  Object.setPrototypeOf(Derived, base)
  return Derived as unknown as C
}

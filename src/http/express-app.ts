import { IncomingMessage, type ServerOptions, ServerResponse } from 'node:http'
import express from 'express'

type Middleware = (request: IncomingMessage, response: ServerResponse) => void

/**
 * An Express application. Calls `next` with the error of the middleware, or without arguments if no middleware has
 * responded.
 */
type App = (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void

/**
 * Creates an Express application with one middleware, and the classes for its HTTP server. Express sets the prototype
 * of every request and response, which is slow if the prototype changes. The returned classes already have the
 * prototypes of Express. The server uses no other feature of Express, which only allows more middleware to be added.
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

/** Returns a constructor like `base` with another prototype. Passes on at most two arguments. */
const withPrototype = <C extends new (...args: never[]) => object>(base: C, prototype: object): C => {
  const construct = base as unknown as (this: object, first: unknown, second: unknown) => void
  function Derived(this: object, first: unknown, second: unknown): void {
    construct.call(this, first, second)
  }
  Derived.prototype = prototype
  // Extends `base` like a subclass, because V8 determines the size of new objects from the fields of all constructors
  // in the chain.
  Object.setPrototypeOf(Derived, base)
  return Derived as unknown as C
}

import { ReplicationService } from '../proto.js'

const { service } = ReplicationService

/** The calls by their names in the contract, with what turns their messages into bytes. */
export const METHODS = {
  bootstrap: service.Bootstrap,
  echo: service.Echo,
  conflictingPages: service.ConflictingPages,
  subPageHashes: service.SubPageHashes,
  forward: service.Forward,
  ping: service.Ping,
  commonPosition: service.CommonPosition,
} as const

export type UnaryMethod = keyof typeof METHODS

export const isUnary = (method: string): method is UnaryMethod => Object.hasOwn(METHODS, method)

/** The two calls that are more than one message and its answer. */
export const { StreamWals: STREAM_WALS, FetchKeys: FETCH_KEYS } = service

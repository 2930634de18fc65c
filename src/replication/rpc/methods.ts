import type { MethodDefinition } from '@grpc/grpc-js'
import type { Recorder } from '../../base/meter.js'
import { ReplicationService } from './proto.js'
import type { ClusterService, ReplyOf, RequestOf, UnaryMethod } from './service.js'

const { service } = ReplicationService

const UNARY = {
  bootstrap: service.Bootstrap,
  echo: service.Echo,
  conflictingPages: service.ConflictingPages,
  subPageHashes: service.SubPageHashes,
  forward: service.Forward,
  ping: service.Ping,
  commonPosition: service.CommonPosition,
} as const satisfies Record<UnaryMethod, unknown>

export const isUnary = (method: string): method is UnaryMethod => Object.hasOwn(UNARY, method)

/** Returns the definition of a unary call: its path and its serializers. */
export const methodOf = <M extends UnaryMethod>(method: M) =>
  UNARY[method] as unknown as MethodDefinition<RequestOf<M>, ReplyOf<M>>

export const { StreamWals: STREAM_WALS, FetchKeys: FETCH_KEYS } = service

/** Records a call in the metrics of the caller. `ms` is its duration in milliseconds; 0 for a streaming call. */
export const recordCall = (recorder: Recorder | undefined, method: keyof ClusterService, ms: number): void =>
  recorder?.record(`vault.replication.rpc.client.${method.replace(/[A-Z]/g, '_$&').toLowerCase()}`, ms)

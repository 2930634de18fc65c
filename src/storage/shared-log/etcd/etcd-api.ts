import { fileURLToPath } from 'node:url'
import {
  type ChannelCredentials,
  type Client,
  type ClientDuplexStream,
  type ClientUnaryCall,
  loadPackageDefinition,
  type Metadata,
  type ServiceError,
} from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'

/**
 * Types of the used messages of `proto/etcd.proto`. 64-bit integers are strings, because IDs of leases need all 64
 * bits.
 */
export interface KeyValue {
  readonly key: Buffer
  readonly create_revision: string
  readonly mod_revision: string
  readonly value: Buffer
  readonly lease: string
}

export interface RangeRequest {
  readonly key: Buffer
  readonly range_end?: Buffer
  readonly limit?: number
  /** The revision to read (default: the newest). */
  readonly revision?: string
  readonly keys_only?: boolean
}

export interface RangeResponse {
  readonly header: { readonly revision: string }
  readonly kvs: readonly KeyValue[]
  readonly more: boolean
}

export type RequestOp =
  | { readonly request_range: RangeRequest }
  | { readonly request_put: { readonly key: Buffer; readonly value: Buffer; readonly lease?: string } }
  | { readonly request_delete_range: { readonly key: Buffer; readonly range_end?: Buffer } }

export interface Compare {
  readonly target: 'CREATE' | 'MOD' | 'VALUE'
  readonly key: Buffer
  readonly create_revision?: string
  readonly mod_revision?: string
  readonly value?: Buffer
}

interface TxnRequest {
  readonly compare: readonly Compare[]
  readonly success: readonly RequestOp[]
  readonly failure?: readonly RequestOp[]
}

export interface TxnResponse {
  readonly header: { readonly revision: string }
  readonly succeeded: boolean
  readonly responses: readonly { readonly response_range?: RangeResponse | null }[]
}

export interface WatchResponse {
  readonly canceled: boolean
  readonly events: readonly { readonly type: 'PUT' | 'DELETE'; readonly kv: KeyValue }[]
}

export interface Member {
  /** ID of the member, a 64-bit number in decimal. */
  readonly ID: string
  /** Empty until the member has started for the first time. */
  readonly name: string
  readonly peerURLs: readonly string[]
  /** A learner receives data but has no vote. */
  readonly isLearner: boolean
}

interface Members {
  readonly members: readonly Member[]
}

type Answer<T> = (error: ServiceError | null, response: T) => void
type Unary<Q, A> = (
  request: Q,
  metadata: Metadata,
  options: { readonly deadline: number },
  answer: Answer<A>,
) => ClientUnaryCall

export interface EtcdCalls {
  Range: Unary<RangeRequest, RangeResponse>
  Txn: Unary<TxnRequest, TxnResponse>
  /** With `physical`, etcd responds after the compacted data is removed from the database. */
  Compact: Unary<{ readonly revision: string; readonly physical?: boolean }, unknown>
  /** Returns unused space in the member's database file to the file system. */
  Defragment: Unary<object, unknown>
  LeaseGrant: Unary<{ readonly TTL: number }, { readonly ID: string }>
  LeaseRevoke: Unary<{ readonly ID: string }, unknown>
  Authenticate: Unary<{ readonly name: string; readonly password: string }, { readonly token: string }>
  MemberAdd: Unary<{ readonly peerURLs: readonly string[]; readonly isLearner: boolean }, { readonly member: Member }>
  MemberRemove: Unary<{ readonly ID: string }, Members>
  MemberList: Unary<object, Members>
  MemberPromote: Unary<{ readonly ID: string }, Members>
}

interface EtcdStreams {
  Watch(metadata: Metadata): ClientDuplexStream<object, WatchResponse>
  LeaseKeepAlive(metadata: Metadata): ClientDuplexStream<{ readonly ID: string }, { readonly TTL: string }>
}

/** The calls to one member of etcd. All calls share one connection. */
export type EtcdMember = {
  readonly [N in keyof EtcdCalls]: (...parameters: Parameters<EtcdCalls[N]>) => ClientUnaryCall
} & EtcdStreams & { close(): void }

type Service = new (address: string, credentials: ChannelCredentials, options: object) => Client
type ServiceName = 'KV' | 'Watch' | 'Lease' | 'Auth' | 'Cluster' | 'Maintenance'

/** The used calls of each etcd service. */
const CALLS: Readonly<Record<ServiceName, readonly (keyof EtcdCalls | keyof EtcdStreams)[]>> = {
  KV: ['Range', 'Txn', 'Compact'],
  Watch: ['Watch'],
  Lease: ['LeaseGrant', 'LeaseRevoke', 'LeaseKeepAlive'],
  Auth: ['Authenticate'],
  Cluster: ['MemberAdd', 'MemberRemove', 'MemberList', 'MemberPromote'],
  Maintenance: ['Defragment'],
}

const loadServices = (): Record<ServiceName, Service> => {
  const definition = loadSync(fileURLToPath(new URL('../../../../proto/etcd.proto', import.meta.url)), {
    keepCase: true,
    longs: String,
    enums: String,
    bytes: Buffer,
    defaults: true,
    oneofs: true,
  })
  const loaded = loadPackageDefinition(definition) as unknown as { etcdserverpb: Record<ServiceName, Service> }
  return loaded.etcdserverpb
}

export const createMembers = (): ((
  address: string,
  credentials: ChannelCredentials,
  options: object,
) => EtcdMember) => {
  const services = loadServices()
  return (...target) => {
    const clients: EtcdMember[] = []
    const bound = Object.entries(CALLS).flatMap(([service, calls]) => {
      const client = new services[service as ServiceName](...target) as unknown as EtcdMember
      clients.push(client)
      return calls.map((name) => [name, (client[name] as (...args: never[]) => unknown).bind(client)] as const)
    })
    const close = () => {
      for (const client of clients) client.close()
    }
    return { ...Object.fromEntries(bound), close } as unknown as EtcdMember
  }
}

import type tls from 'node:tls'
import { Channel, credentials } from '@grpc/grpc-js'
import { Subchannel } from '@grpc/grpc-js/build/src/subchannel.js'
import type { SubchannelPool } from '@grpc/grpc-js/build/src/subchannel-pool.js'
import {
  Http2SubchannelConnector,
  type SubchannelConnector,
  type Transport,
} from '@grpc/grpc-js/build/src/transport.js'
import { ReplicationService } from '../proto.js'
import { connectionOptions, type KeepaliveTimes } from './silence.js'

/** Maximum bytes in flight before the receiver must read. The default of 64 KiB halves the throughput. */
const FLOW_CONTROL_WINDOW_BYTES = 1024 * 1024
/**
 * Idle time in milliseconds after which a channel closes its connection. It is practically infinite: the owner closes
 * the connection.
 */
const NEVER_IDLE_MS = 2 ** 31 - 1
/** Target of the channel. The library requires one, although the channel never resolves or dials it. */
const TARGET = { scheme: 'ipv4', path: '127.0.0.1:1' }

export type ReplicationClient = InstanceType<typeof ReplicationService>

/**
 * Creates a client whose channel is one existing connection. The channel never dials, so that the follower and the
 * injected network control addresses, timers and backoff. Resolves when the peer has responded as an HTTP/2 server,
 * which means that it accepted the client certificate. Rejects with the connection's error.
 *
 * The library has no public API for an existing connection. Two private members are used: the second half of its
 * connector (`createSession`) and the connection pool of the channel. A test of this file fails if an update changes
 * them.
 */
export const createClientOver = async (socket: tls.TLSSocket, times: KeepaliveTimes): Promise<ReplicationClient> => {
  const options = {
    ...connectionOptions(times),
    'grpc.client_idle_timeout_ms': NEVER_IDLE_MS,
    'grpc-node.flow_control_window': FLOW_CONTROL_WINDOW_BYTES,
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_retries': 0,
    'grpc.enable_http_proxy': 0,
    'grpc.service_config_disable_resolution': 1,
  }
  const http2 = new Http2SubchannelConnector(TARGET)
  // biome-ignore lint/complexity/useLiteralKeys: private to the library's types
  const transport: Transport = await http2['createSession'](
    { socket, secure: true },
    { host: '127.0.0.1', port: 1 },
    options,
  )
  const channel = new Channel(`${TARGET.scheme}:${TARGET.path}`, credentials.createInsecure(), options)
  // biome-ignore lint/complexity/useLiteralKeys: private to the library's types
  const pool: SubchannelPool = channel['internalChannel']['subchannelPool']
  pool.getOrCreateSubchannel = (target, address, given, creds) =>
    new Subchannel(target, address, given, creds, onlyOnce(transport))
  return new ReplicationService('unused', credentials.createInsecure(), { channelOverride: channel })
}

/** Returns a connector that returns the given connection once, and then fails. */
const onlyOnce = (transport: Transport): SubchannelConnector => {
  let isTaken = false
  return {
    connect: async () => {
      if (isTaken) throw new Error('the connection was lost')
      isTaken = true
      return transport
    },
    shutdown: () => transport.shutdown(),
  }
}

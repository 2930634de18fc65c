import type { Clock } from '../../base/clock.js'
import type { Recorder } from '../../base/meter.js'
import type { Kind } from '../model/types.js'
import type { ClusterService, UnaryMethod } from './service.js'

/** The names of the methods in the metrics of a primary. */
const NAMES = {
  bootstrap: 'bootstrap_request',
  echo: 'echo',
  conflictingPages: 'conflicting_pages_request',
  subPageHashes: 'sub_page_hashes_request',
  forward: 'forwarding_request',
  ping: 'ping_request',
  commonPosition: 'common_position_request',
} as const satisfies Record<UnaryMethod, string>

/** Wraps a service so that every call is counted and timed. */
export const countedService = (
  service: ClusterService,
  kind: Kind,
  recorder: Recorder,
  clock: Clock,
): ClusterService => {
  const prefix = kind === 'dr' ? 'vault.replication.rpc.dr.server' : 'vault.replication.rpc.server'
  const timed = async <T>(name: string, run: () => Promise<T>): Promise<T> => {
    const startMs = clock.monotonic()
    try {
      return await run()
    } finally {
      recorder.record(`${prefix}.${name}`, clock.monotonic() - startMs)
    }
  }
  const unary = <M extends UnaryMethod>(method: M): ClusterService[M] => {
    const call = service[method].bind(service) as (caller: unknown, request: unknown) => Promise<unknown>
    return ((caller: unknown, request: unknown) =>
      timed(NAMES[method], () => call(caller, request))) as ClusterService[M]
  }
  const counted = Object.keys(NAMES).map((method) => [method, unary(method as UnaryMethod)])
  return {
    ...(Object.fromEntries(counted) as Pick<ClusterService, UnaryMethod>),
    streamWals: (caller, stream) => {
      recorder.record(`${prefix}.stream_wals_request`, 0)
      return service.streamWals(caller, stream)
    },
    fetchKeys: (caller, request) => {
      recorder.record(`${prefix}.fetch_keys_request`, 0)
      return service.fetchKeys(caller, request)
    },
  }
}

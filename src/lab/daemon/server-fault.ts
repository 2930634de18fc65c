import { textsOfJson } from '../../base/json-print.js'
import { isRefused } from '../../base/link-text.js'
import { describeServer } from '../model/cluster.js'
import { KINDS, type Kind } from '../model/kinds.js'
import { LabError } from '../model/lab-error.js'
import { type Answer, ask } from './ask.js'
import type { WatchedCluster } from './watch.js'

/**
 * A fault of one server. It is set through the lab endpoints of the server below `/_understudy/v1/`. Times are in milliseconds.
 */
export type ServerFault =
  /** Replication stops in this state. Without `kind`, that of both kinds. */
  | { readonly name: 'hold-state'; readonly state: string; readonly kind?: Kind | undefined }
  /** The server's clock is shifted. */
  | { readonly name: 'skew'; readonly ms: number }
  /** Writes fail with a full disk or a device error, or are delayed. */
  | { readonly name: 'disk'; readonly state: 'full' | 'fail' | 'slow'; readonly delayMs?: number | undefined }
  /** Corrupts a page of a Merkle tree once. Replication or `reindex` repairs it. */
  | { readonly name: 'corrupt'; readonly tree: 'replicated' | 'local'; readonly page: number }
  /** Expires the activation token that was issued for this secondary. */
  | { readonly name: 'expire-token'; readonly id: string; readonly kind?: Kind | undefined }

/** Whether a fault acts once and cannot be undone. */
export const isDoneAtOnce = ({ name }: ServerFault): boolean => name === 'corrupt' || name === 'expire-token'

const ANSWER_MS = 3000

interface Order {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
}

const begin = (fault: ServerFault): readonly Order[] => {
  switch (fault.name) {
    case 'hold-state':
      return [{ path: 'states/hold', body: { state: fault.state, kind: fault.kind } }]
    case 'skew':
      return [{ path: 'clock', body: { skew: `${fault.ms}ms` } }]
    case 'disk':
      return [{ path: 'faults/disk', body: { state: fault.state, delay: `${fault.delayMs ?? 0}ms` } }]
    case 'corrupt':
      return [{ path: 'faults/corrupt', body: { tree: fault.tree, page: fault.page } }]
    case 'expire-token':
      return (fault.kind ? [fault.kind] : KINDS).map((kind) => ({
        path: 'faults/expire-token',
        body: { kind, id: fault.id },
      }))
  }
}

const end = (fault: ServerFault): readonly Order[] => {
  switch (fault.name) {
    case 'hold-state':
      return [{ path: 'states/release', body: { state: fault.state, kind: fault.kind } }]
    case 'skew':
      return [{ path: 'clock', body: { skew: '0s' } }]
    case 'disk':
      return [{ path: 'faults/disk', body: { state: 'ok' } }]
    case 'corrupt':
    case 'expire-token':
      return []
  }
}

/** Returns the setting that a fault changes. Of two faults of one setting, the newer applies. */
export const knobOf = (fault: ServerFault): string =>
  fault.name === 'hold-state' ? `${fault.name} ${fault.state} ${fault.kind ?? ''}` : fault.name

/** Whether removing one fault affects the other. */
export const isSameKnob = (one: ServerFault, other: ServerFault): boolean => {
  if (one.name !== 'hold-state' || other.name !== 'hold-state') return one.name === other.name
  return one.state === other.state && (one.kind === other.kind || !one.kind || !other.kind)
}

type Server = Pick<WatchedCluster, 'name' | 'apiAddress' | 'labApiToken'>

/** Sets a fault. Rejects with the error of the server, or with `remote` if it does not respond. */
export const setServerFault = (server: Server, fault: ServerFault): Promise<void> => order(server, begin(fault))

/** Removes a fault. Succeeds if the server is not running, since a stopped server has no faults. */
export const endServerFault = async (server: Server, fault: ServerFault): Promise<void> => {
  try {
    await order(server, end(fault))
  } catch (error) {
    if (!(error instanceof LabError && isRefused(error))) throw error
  }
}

/** Removes all faults of a server, including unknown ones, and returns them. Rejects if it does not respond. */
export const clearServer = async (server: Server): Promise<readonly ServerFault[]> => {
  const { json: faults } = await call(server, { method: 'GET', path: 'faults' })
  const { json: held } = await call(server, { method: 'GET', path: 'states' })
  const found = [...faultsIn(faults), ...statesIn(held)]
  for (const fault of found) await order(server, end(fault))
  return found
}

const faultsIn = ({ skew_ms: ms, disk }: Answer['json']): ServerFault[] => {
  const { state, delay_ms: delayMs } = (disk ?? {}) as Record<string, unknown>
  const isOfDisk = state === 'full' || state === 'fail' || state === 'slow'
  return [
    ...(typeof ms === 'number' && ms !== 0 ? [{ name: 'skew', ms } as const] : []),
    ...(isOfDisk ? [{ name: 'disk', state, delayMs: typeof delayMs === 'number' ? delayMs : 0 } as const] : []),
  ]
}

const statesIn = ({ states }: Answer['json']): ServerFault[] =>
  (Array.isArray(states) ? (states as { state: string; kind: Kind }[]) : []).map(({ state, kind }) => ({
    name: 'hold-state',
    state,
    kind,
  }))

/** Sends alternative requests until the server accepts one: only the server knows which kind of replication applies. */
const order = async (server: Server, orders: readonly Order[]): Promise<void> => {
  let refusal: LabError | undefined
  for (const { path, body } of orders) {
    const answer = await call(server, { method: 'POST', path, body })
    if (answer.status < 300) return
    const reason = textsOfJson(answer.json.errors).join('; ') || `status ${answer.status}`
    refusal ??= new LabError(
      answer.status === 400 ? 'usage' : 'remote',
      describeRefusal(answer, reason, server.apiAddress),
    )
  }
  if (refusal) throw refusal
}

const describeRefusal = ({ status }: Answer, reason: string, apiAddress: string): string =>
  status === 404 ? `${apiAddress} has no lab endpoints: its setting lab_api is off` : reason

interface Call {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: unknown
}

const call = async ({ name, apiAddress, labApiToken }: Server, { method, path, body }: Call): Promise<Answer> => {
  const url = `${apiAddress}/_understudy/v1/${path}`
  const headers: Record<string, string> = labApiToken === undefined ? {} : { 'X-Understudy-Token': labApiToken }
  try {
    return await ask({ method, url, body, headers, timeoutMs: ANSWER_MS })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new LabError(
      'remote',
      `${describeServer(name)} does not answer at ${apiAddress}, and has to for this: ${reason}`,
      {
        cause: error,
      },
    )
  }
}

/** Describes a fault: `clock +300000 ms`, `disk slow, 200 ms more`. */
export const describeServerFault = (fault: ServerFault): string => {
  switch (fault.name) {
    case 'hold-state':
      return `held in ${fault.state}${fault.kind ? ` (${fault.kind})` : ''}`
    case 'skew':
      return `clock ${fault.ms < 0 ? '-' : '+'}${describeSpan(Math.abs(fault.ms))}`
    case 'disk':
      return `disk ${fault.state}${fault.delayMs ? `, ${fault.delayMs} ms more` : ''}`
    case 'corrupt':
      return `page ${fault.page} of the ${fault.tree} tree corrupted`
    case 'expire-token':
      return `activation token of ${fault.id} expired`
  }
}

const describeSpan = (ms: number): string => (ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`)

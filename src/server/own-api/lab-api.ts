import { alternatives } from '../../base/counted.js'
import { parseDurationMs } from '../../base/duration.js'
import { packageVersion } from '../../base/package-version.js'
import { invalid, notFound, unsupportedOperation } from '../../logical/errors.js'
import type { Rendered, LabRequest } from '../../logical/incoming.js'
import { type JsonObject, parseJson } from '../../logical/json.js'
import type { Withheld } from '../../logical/request.js'
import { printJson } from '../../base/json-print.js'
import { clientRequests, renderPrometheus } from '../../core/status/metrics.js'
import { HOLD_STATES } from '../../replication/host/holds.js'
import type { Ahead, Registration } from '../../replication/model/state.js'
import { KINDS } from '../../replication/roles/role-records.js'
import type { ServerConfig } from '../config/config.js'
import { SKEW_MS_MAX } from '../data/cluster-image.js'
import { DISK_STATES } from '../faults/disk-faults.js'
import { describeOwnApi, listOwnApi } from './document.js'
import { describeLost, hasSecretId } from './lost-entries.js'
import { type OwnOperation, SERVER_OPERATIONS, type ServerOperation } from './server-operations.js'
import { readMetrics } from '../wiring/metric-reading.js'
import type { OpenCluster } from '../wiring/open-cluster.js'
import {
  closed,
  describeNode,
  hasToken,
  hidePaths,
  type LabServer,
  readOwnAudit,
  requireOwnHost,
  requireRight,
  statusOfAuditRead,
} from './lab-server.js'
import { isStream } from './own-feed.js'

type Answer = JsonObject | string | AsyncIterable<Buffer> | undefined
/** Executes an operation. Returns an `Answer`, or a promise of one. */
type Run = (server: LabServer, body: JsonObject, request: LabRequest) => unknown

/** The function that executes each operation of `SERVER_OPERATIONS`. */
const RUNS: Readonly<Record<ServerOperation, Run>> = {
  'GET info': info,
  'GET losses': losses,
  'GET events': ({ feed }) => feed.open(),
  'GET audit': (server, _, request) => readOwnAudit(server, request),
  'GET metrics': metrics,
  'GET states': ({ holds }) => ({ states: holds.list() }),
  'POST states/hold': hold,
  'POST states/release': release,
  'POST clock': skew,
  'GET faults': faults,
  'POST faults/disk': setDisk,
  'POST faults/corrupt': corrupt,
  'POST faults/expire-token': expireToken,
  'POST image/pause': ({ images }) => images.pause(),
  'POST image/take': (server) => takeImage(server),
  'POST image/release': ({ images }) => images.release(),
  'POST image/stop': ({ images }) => images.stop(),
  'POST image/load': ({ images }) => images.loadFile(),
  'POST image/resume': ({ images }) => images.resume(),
}

/** Operations whose responses contain storage paths. */
const WITH_PATHS: ReadonlySet<string> = new Set<ServerOperation>(['GET info', 'GET losses'])

const NAMES = Object.keys(RUNS) as ServerOperation[]

const takeImage = async (server: LabServer): Promise<JsonObject> => {
  const { sha256, bytes, pausedMs } = await server.images.take()
  return { sha256, bytes, paused_ms: Math.round(pausedMs) }
}

/**
 * Creates the handler of Understudy-specific endpoints, which respond in every state. Errors have the form `{"errors":
 * [...]}`.
 */
export const createLabApi = (server: LabServer, config: ServerConfig): ((request: LabRequest) => Promise<Rendered>) => {
  const { labApi, labApiToken } = config.own
  const isOpen = new Map<OwnOperation, boolean>([
    [SERVER_OPERATIONS['GET metrics'], config.unauthenticatedMetrics],
    [SERVER_OPERATIONS['GET events'], config.hasPage],
    [SERVER_OPERATIONS['GET audit'], config.hasPage],
  ])
  const mayKnowPaths = async (request: LabRequest): Promise<boolean> =>
    (labApi && (labApiToken === '' || hasToken(request, labApiToken))) ||
    (await statusOfAuditRead(server, request)) === 200
  return async (request) => {
    const { withheld = [] } = request
    // A listener that withholds any information serves no event stream, because the stream contains such information.
    const isThere = (operation: OwnOperation) =>
      !(operation === SERVER_OPERATIONS['GET events'] && withheld.length > 0) &&
      (labApi || (!operation.isLabOnly && (isOpen.get(operation) ?? true)))
    if (!hasToken(request, labApiToken)) requireOwnHost(request, [config.apiAddress, config.clusterAddress])
    if (request.method === 'GET' && request.path === '') return renderJson(listOwnApi(isThere))
    if (request.method === 'GET' && request.path === 'openapi.json')
      return renderJson(describeOwnApi(withheld.includes('version') ? '' : packageVersion()))
    const known = NAMES.filter((name) => name.split(' ')[1] === request.path && isThere(SERVER_OPERATIONS[name]))
    if (known.length === 0) throw notFound()
    const name = known.find((one) => one.startsWith(`${request.method} `))
    if (!name) throw unsupportedOperation()
    const { isLabOnly }: OwnOperation = SERVER_OPERATIONS[name]
    if (isLabOnly) requireRight(request, labApiToken)
    const answer = (await RUNS[name](server, parseBody(request.body), request)) as Answer
    if (answer === undefined) return { ...render(''), status: 204 }
    if (typeof answer === 'string') return render(answer, 'text/plain; version=0.0.4')
    if (isStream(answer)) return render(answer, 'text/event-stream')
    const isHidden = WITH_PATHS.has(name) && !(await mayKnowPaths(request))
    return renderJson(isHidden ? (hidePaths(answer) as JsonObject) : answer)
  }
}

const render = (body: Rendered['body'], contentType = 'application/json'): Rendered => ({
  status: 200,
  contentType,
  body,
  headers: {},
})

const renderJson = (answer: JsonObject): Rendered => render(printJson(answer))

const parseBody = (body: Buffer): JsonObject => {
  if (body.length === 0) return {}
  const parsed = parseJson(body.toString('utf8'))
  if (parsed === null) return {}
  if (typeof parsed !== 'object' || Array.isArray(parsed)) throw invalid('the body must be a JSON object')
  return parsed as JsonObject
}

async function info(server: LabServer, _: JsonObject, { withheld }: LabRequest): Promise<JsonObject> {
  const cluster = server.runtime?.cluster
  const view = cluster?.replication.view
  const shown = (what: Withheld, text: string) => (withheld?.includes(what) ? '' : text)
  return {
    name: shown('cluster-name', server.status.facts.clusterName),
    version: shown('version', packageVersion()),
    reported_version: shown('version', server.status.reportedVersion),
    storage_generation: server.host.storageGeneration,
    epoch: server.runtime?.store.epoch ?? '',
    primary_epoch: server.runtime?.store.remotePosition?.epoch ?? '',
    fenced: (cluster && (await fenceOf(cluster))) ?? null,
    ahead: (view?.ahead && aheadOf(view.ahead)) ?? null,
    announced_wal: view?.announcedIndex ?? 0,
    purge_pending: server.host.isPurgePending,
    kinds: { dr: view?.modes.dr ?? 'unknown', performance: view?.modes.performance ?? 'unknown' },
    node: describeNode(server) ?? null,
    requests: clientRequests(server.meter),
  }
}

/** Describes the entries that this secondary has and its rewound primary has lost. */
const aheadOf = ({ epoch, index, commonIndex, primaryIndex, sinceMs }: Ahead): JsonObject => ({
  epoch,
  last_remote_wal: index,
  common_wal: commonIndex,
  primary_last_wal: primaryIndex,
  since: new Date(sinceMs).toISOString(),
})

/** Describes the newer epoch, and the writes that this primary has accepted and the newer epoch lacks. */
const fenceOf = async ({ replication, clock }: OpenCluster): Promise<JsonObject | undefined> => {
  const { fence } = replication.view
  if (!fence) return undefined
  const { entries, entriesBeyond } = await replication.replication.acceptedSinceFence()
  return {
    epoch: fence.epoch,
    by_epoch: fence.byEpoch,
    since: new Date(fence.sinceMs).toISOString(),
    accepted: describeLost(entries, clock.now()),
    accepted_beyond: entriesBeyond,
  }
}

async function losses(server: LabServer): Promise<JsonObject> {
  const { cluster } = server.runtime ?? {}
  if (!cluster) throw closed(server)
  const { replication } = cluster.replication
  const [lost, held] = await Promise.all([replication.losses(), replication.losses(true)])
  const nowMs = cluster.clock.now()
  const isStored = (path: string) => hasSecretId(replication.context.host, path, nowMs)
  const describe = ({ epoch, firstIndex, lastIndex, reason, isSettled, ...loss }: (typeof lost)[number]) => ({
    epoch,
    first_index: firstIndex,
    last_index: lastIndex,
    reason,
    // Until a list is settled, the data of this cluster has the effect of the lost entries.
    entries: describeLost(loss.entries, nowMs, isSettled ? isStored : undefined),
    entries_beyond: loss.entriesBeyond ?? 0,
    frames_beyond: loss.framesBeyond ?? 0,
  })
  return { losses: lost.map(describe), held: held.map(describe) }
}

async function metrics(server: LabServer): Promise<string> {
  const { runtime } = server
  if (!runtime?.cluster) throw closed(server)
  return renderPrometheus(await readMetrics(runtime, runtime.cluster.replication, server))
}

/**
 * Returns the value if it is one of `choices`, or undefined if it is absent. Throws `LogicalError` (status 400) for
 * other values.
 */
const choiceOf = <T extends string>(value: unknown, choices: readonly T[], refusal: string): T | undefined => {
  if (value === undefined || value === null || value === '') return undefined
  const choice = choices.find((one) => one === value)
  if (!choice) throw invalid(refusal)
  return choice
}

const kindOf = ({ kind }: JsonObject) => choiceOf(kind, KINDS, 'kind must be dr or performance')
const stateOf = ({ state }: JsonObject) => choiceOf(state, HOLD_STATES, `state must be ${alternatives(HOLD_STATES)}`)

function hold(server: LabServer, body: JsonObject): void {
  const state = stateOf(body)
  if (!state) throw invalid(`state is required: ${alternatives(HOLD_STATES)}`)
  const kind = kindOf(body)
  for (const one of kind ? [kind] : KINDS) server.holds.hold(one, state)
}

function release(server: LabServer, body: JsonObject): void {
  server.holds.release(kindOf(body), stateOf(body))
}

function skew(server: LabServer, body: JsonObject): void {
  const ms = typeof body.skew === 'string' ? parseDurationMs(body.skew) : undefined
  if (ms === undefined || Math.abs(ms) > SKEW_MS_MAX)
    throw invalid('skew must be a duration such as "5s" or "-2m", of at most ten years')
  server.labState.skewMs = ms
}

/** Returns the faults of this process. `GET states` lists held states. */
function faults({ labState }: LabServer): JsonObject {
  return {
    skew_ms: labState.skewMs,
    disk: { state: labState.disk.state, delay_ms: labState.disk.delayMs },
  }
}

const DISK_DELAY_MS_MAX = 60_000

function setDisk({ labState }: LabServer, body: JsonObject): void {
  const state = DISK_STATES.find((known) => known === body.state)
  if (!state) throw invalid(`state must be ${alternatives(DISK_STATES)}`)
  const delayMs = body.delay === undefined ? 0 : parseDurationMs(String(body.delay))
  if (delayMs === undefined || delayMs < 0 || delayMs > DISK_DELAY_MS_MAX)
    throw invalid('delay must be a duration from "0s" to "60s"')
  labState.disk.state = state
  labState.disk.delayMs = state === 'slow' ? delayMs : 0
}

function corrupt(server: LabServer, body: JsonObject): void {
  const { tree, page } = body
  if (tree !== 'replicated' && tree !== 'local') throw invalid('tree must be replicated or local')
  if (typeof page !== 'number' || !Number.isInteger(page) || page < 0 || page > 255) {
    throw invalid('page must be a whole number from 0 to 255')
  }
  const { runtime } = server
  if (!runtime?.cluster) throw closed(server)
  runtime.store.corruptPage(tree, page)
}

async function expireToken(server: LabServer, body: JsonObject): Promise<void> {
  const kind = kindOf(body)
  const { id } = body
  if (typeof id !== 'string' || !kind) throw invalid('id and kind are required')
  const roles = server.runtime?.cluster?.replication.replication.context.roles
  if (!roles) throw closed(server)
  const isIssued = (row: Registration) => row.id === id && row.state === 'issued'
  const record = roles.record(kind)
  if (record.mode !== 'primary' || !record.registrations.some(isIssued)) {
    throw invalid(`no unused activation token was issued for the id "${id}"`)
  }
  await roles.updatePrimary(kind, (latest) => ({
    ...latest,
    registrations: latest.registrations.map((row) => (isIssued(row) ? { ...row, expiresAtMs: 0 } : row)),
  }))
}

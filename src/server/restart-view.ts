import type { Clock } from '../base/clock.js'
import { checkGate } from '../core/gate.js'
import { createSystemBackend } from '../core/system/backend.js'
import { sealStatusBody } from '../core/system/seal-paths.js'
import { statusPaths } from '../core/system/status-paths.js'
import type { Backend } from '../logical/backend.js'
import { dispatch } from '../logical/dispatch.js'
import type { IncomingRequest } from '../logical/incoming.js'
import type { JsonObject } from '../logical/json.js'
import type { Response } from '../logical/request.js'
import type { Runtime } from './runtime.js'
import type { ServerStatus } from './server-status.js'

const RESTARTING = { isInitialized: true, isSealed: false, isRestarting: true, isDrSecondary: false } as const

/**
 * Answers while the runtime is being rebuilt: status reads as they were the moment before, everything else 503. Nothing
 * here touches the data, which may be on its way to another generation.
 */
export class RestartView {
  readonly #answers: ReadonlyMap<string, Response>
  readonly #live: Backend

  constructor(runtime: Runtime, status: ServerStatus, clock: Clock) {
    const replication = runtime.cluster?.replication
    const dr = replication?.statusData('dr') ?? { mode: 'disabled' }
    const performance = replication?.statusData('performance') ?? { mode: 'disabled' }
    const bare = (data: JsonObject): Response => ({ data, bare: true })
    this.#answers = new Map<string, Response>([
      ['sys/init', bare({ initialized: true })],
      ['sys/seal-status', bare(sealStatusBody(runtime.seal, status))],
      ['sys/replication/status', { data: { dr, performance } }],
      ['sys/replication/dr/status', { data: dr }],
      ['sys/replication/performance/status', { data: performance }],
    ])
    const seal = { isInitialized: true, isSealed: false }
    this.#live = createSystemBackend({ paths: statusPaths({ seal, status, clock }) })
  }

  async handle(request: IncomingRequest): Promise<Response | undefined> {
    checkGate(request.path, request.operation, RESTARTING, [])
    const kept = request.operation === 'read' ? this.#answers.get(request.path) : undefined
    return kept ? { ...kept } : dispatch(this.#live, request, request.path.slice('sys/'.length))
  }
}

/** Removes expired certificates of this cluster, and expired issuers. */
import { formatTime } from '../../base/rfc3339.js'
import type { BackendContext } from '../../logical/backend.js'
import { definePath, type PathSpec } from '../../logical/backend.js'
import type { Response } from '../../logical/request.js'
import { tidyAnswer } from '../../logical/tidy.js'
import type { Authorities } from './authorities.js'
import type { CertificateStore } from './certificate-store.js'
import type { Revocation } from './revocation.js'
import {
  autoTidyOf,
  autoTidyPath,
  checkedTidy,
  hasTargets,
  NO_TARGETS,
  TIDY_FIELDS,
  type TidyValues,
} from './tidy-config.js'

type State = 'Inactive' | 'Running' | 'Finished' | 'Error' | 'Cancelled'

interface Status {
  state: State
  error: string | null
  startedMs: number
  finishedMs: number
  issued: number
  revoked: number
  values: TidyValues | undefined
}

const NEVER: Readonly<Status> = {
  state: 'Inactive',
  error: null,
  startedMs: 0,
  finishedMs: 0,
  issued: 0,
  revoked: 0,
  values: undefined,
}

/** The fields of a request that the status always contains. */
const SHOWN = Object.keys(TIDY_FIELDS).filter(
  (name) => name !== 'tidy_revocation_list' && name !== 'revocation_queue_safety_buffer',
)

/** The numbers of things that this server does not have. */
const COUNTS = [
  'missing_issuer_cert_count',
  'revocation_queue_deleted_count',
  'cross_revoked_cert_deleted_count',
  'total_acme_account_count',
  'acme_account_deleted_count',
  'acme_account_revoked_count',
  'acme_orders_deleted_count',
] as const

/**
 * Runs at most one tidy operation at a time. An automatic operation starts with the first certificate that is issued
 * after the interval: without new certificates, there is nothing new to remove.
 */
export class Tidy {
  readonly #authorities: Authorities
  readonly #store: CertificateStore
  readonly #revocation: Revocation
  #status: Status = { ...NEVER }
  #isCancelled = false
  #running: Promise<void> = Promise.resolve()
  /** When the latest operation ended, or else when the mount was opened. */
  #latestMs: number

  constructor(authorities: Authorities, store: CertificateStore, revocation: Revocation) {
    this.#authorities = authorities
    this.#store = store
    this.#revocation = revocation
    this.#latestMs = authorities.context.clock.now()
  }

  get #context(): BackendContext {
    return this.#authorities.context
  }

  /** Resolves when no operation runs. Stops a running operation. */
  settled(): Promise<void> {
    this.#isCancelled = true
    return this.#running
  }

  paths(): PathSpec[] {
    return [
      definePath('tidy', TIDY_FIELDS, 'Remove expired certificates in the background.', {
        update: ({ values }) => this.#request(checkedTidy(values)),
      }),
      definePath('tidy-cancel', {}, 'Stop the tidy operation.', {
        update: () => {
          if (this.#status.state !== 'Running') {
            return { warnings: ['Tidy operation cannot be cancelled as none is currently running.'] }
          }
          this.#isCancelled = true
          return this.#show()
        },
      }),
      definePath('tidy-status', {}, 'The state of the tidy operation, or of the latest one.', {
        read: () => this.#show(),
      }),
      autoTidyPath(this.#context),
    ]
  }

  #request(values: TidyValues): Response {
    if (!this.#start(values)) return tidyAnswer(false)
    return hasTargets(values)
      ? tidyAnswer(true)
      : { ...tidyAnswer(true), warnings: [`Manual tidy requested but ${NO_TARGETS}`] }
  }

  /** Starts an operation if automatic operations are enabled and the interval is over. */
  startIfDue(): void {
    const config = autoTidyOf(this.#context)
    if (config.enabled && this.#context.clock.now() >= this.#latestMs + config.interval_duration * 1000)
      this.#start(config)
  }

  /** Starts an operation. Returns false if one is in progress. */
  #start(values: TidyValues): boolean {
    if (this.#status.state === 'Running') return false
    this.#isCancelled = false
    this.#status = { ...NEVER, state: 'Running', startedMs: this.#context.clock.now(), values }
    this.#running = this.#run(values)
    return true
  }

  async #run(values: TidyValues): Promise<void> {
    const finish = (state: State, error: string | null = null) => {
      this.#latestMs = this.#context.clock.now()
      Object.assign(this.#status, { state, error, finishedMs: this.#latestMs })
    }
    try {
      const before = this.#context.clock.now() - values.safety_buffer * 1000
      if (values.tidy_cert_store) this.#status.issued = await this.#removeExpired('issued', before)
      if (values.tidy_revoked_certs) {
        this.#status.revoked = await this.#removeExpired('revoked', before)
        if (this.#status.revoked > 0) await this.#revocation.rebuild()
      }
      if (values.tidy_expired_issuers && !this.#context.isReadOnly()) {
        await this.#removeIssuers(this.#context.clock.now() - values.issuer_safety_buffer * 1000)
      }
      finish(this.#isCancelled ? 'Cancelled' : 'Finished')
    } catch (error) {
      finish('Error', String(error))
      this.#context.log.warn('the tidy operation failed', { error: String(error) })
    }
  }

  /** Removes certificates that expired before a time. Returns their number. */
  async #removeExpired(kind: 'issued' | 'revoked', beforeMs: number): Promise<number> {
    let count = 0
    for await (const page of this.#store.pages(kind)) {
      if (this.#isCancelled) return count
      const expired = page.filter(([, { notAfterMs }]) => notAfterMs < beforeMs).map(([serial]) => serial)
      if (expired.length > 0) await this.#store.remove(kind, expired)
      count += expired.length
    }
    return count
  }

  #removeIssuers(beforeMs: number): Promise<void> {
    return this.#authorities.change(async () => {
      const { default: defaultId } = this.#authorities.issuers.config()
      for (const issuer of await this.#authorities.issuers.all()) {
        if (issuer.notAfterMs >= beforeMs || issuer.id === defaultId) continue
        this.#context.log.info('removed an expired issuer', { issuer: issuer.id, certificate: issuer.certificate })
        await this.#authorities.issuers.delete(issuer)
      }
    })
  }

  #show(): Response {
    const { state, error, startedMs, finishedMs, issued, revoked, values } = this.#status
    const timeOf = (ms: number) => (ms === 0 ? null : formatTime(ms))
    const counts = Object.fromEntries(COUNTS.map((name) => [name, values ? 0 : null]))
    return {
      data: {
        ...(values ?? Object.fromEntries(SHOWN.map((name) => [name, null]))),
        ...counts,
        ...(values && { last_auto_tidy_finished: formatTime(this.#latestMs) }),
        state,
        error,
        time_started: timeOf(startedMs),
        time_finished: timeOf(finishedMs),
        message: null,
        cert_store_deleted_count: values ? issued : null,
        revoked_cert_deleted_count: values ? revoked : null,
        current_cert_store_count: null,
        current_revoked_cert_count: null,
        internal_backend_uuid: this.#context.mount.uuid,
      },
    }
  }
}

/** Removes expired certificates of this cluster, and expired issuers. */
import { formatTime } from '../../base/rfc3339.js'
import type { BackendContext } from '../../logical/backend.js'
import { type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, duration } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import { tidyAnswer } from '../../logical/tidy.js'
import type { Authorities } from './authorities.js'
import type { CertificateStore } from './certificate-store.js'
import type { Revocation } from './revocation.js'

const HOUR_SECONDS = 3600

const FIELDS = {
  tidy_cert_store: bool('Removes expired certificates.'),
  tidy_revoked_certs: bool('Removes expired certificates that were revoked, and rebuilds the revocation lists.'),
  tidy_expired_issuers: bool('Removes expired issuers, except for the default issuer.'),
  safety_buffer: duration('Time between the expiry and the removal of a certificate.', 72 * HOUR_SECONDS),
  issuer_safety_buffer: duration('Time between the expiry and the removal of an issuer.', 8760 * HOUR_SECONDS),
} as const

type TidyCall = Pick<Call<typeof FIELDS>, 'values'>

type State = 'Inactive' | 'Running' | 'Finished' | 'Error' | 'Cancelled'

interface Status {
  state: State
  error: string | null
  startedMs: number
  finishedMs: number
  issued: number
  revoked: number
  values: TidyCall['values'] | undefined
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

/** Runs at most one tidy operation at a time. */
export class Tidy {
  readonly #authorities: Authorities
  readonly #store: CertificateStore
  readonly #revocation: Revocation
  #status: Status = { ...NEVER }
  #isCancelled = false
  #running: Promise<void> = Promise.resolve()

  constructor(authorities: Authorities, store: CertificateStore, revocation: Revocation) {
    this.#authorities = authorities
    this.#store = store
    this.#revocation = revocation
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
      definePath('tidy', FIELDS, 'Remove expired certificates in the background.', {
        update: (call) => this.#start(call),
      }),
      definePath('tidy-cancel', {}, 'Stop the tidy operation.', {
        update: () => {
          if (this.#status.state !== 'Running')
            throw invalid('Tidy operation cannot be cancelled as none is currently running.')
          this.#isCancelled = true
          return this.#show()
        },
      }),
      definePath('tidy-status', {}, 'The state of the tidy operation, or of the latest one.', {
        read: () => this.#show(),
      }),
    ]
  }

  #start({ values }: TidyCall): Response {
    if (values.safety_buffer < 1) throw invalid('safety_buffer must be greater than zero')
    if (values.issuer_safety_buffer < 1) throw invalid('issuer_safety_buffer must be greater than zero')
    if (!(values.tidy_cert_store || values.tidy_revoked_certs || values.tidy_expired_issuers)) {
      return {
        warnings: [
          'No targets to tidy; specify tidy_cert_store=true or tidy_revoked_certs=true or tidy_expired_issuers=true to start a tidy operation.',
        ],
      }
    }
    if (this.#status.state === 'Running') return tidyAnswer(false)
    this.#isCancelled = false
    this.#status = { ...NEVER, state: 'Running', startedMs: this.#context.clock.now(), values }
    this.#running = this.#run(values)
    return tidyAnswer(true)
  }

  async #run(values: TidyCall['values']): Promise<void> {
    const finish = (state: State, error: string | null = null) =>
      Object.assign(this.#status, { state, error, finishedMs: this.#context.clock.now() })
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
    const hasStarted = values !== undefined
    return {
      data: {
        state,
        error,
        time_started: timeOf(startedMs),
        time_finished: timeOf(finishedMs),
        message: null,
        cert_store_deleted_count: hasStarted ? issued : null,
        revoked_cert_deleted_count: hasStarted ? revoked : null,
        tidy_cert_store: values?.tidy_cert_store ?? null,
        tidy_revoked_certs: values?.tidy_revoked_certs ?? null,
        tidy_expired_issuers: values?.tidy_expired_issuers ?? null,
        safety_buffer: values?.safety_buffer ?? null,
        issuer_safety_buffer: values?.issuer_safety_buffer ?? null,
      },
    }
  }
}

import type { Request, Response } from '../../logical/request.js'
import type { LeaseMount } from '../leases/lease-revocation.js'
import type { LeaseStore } from '../leases/leases.js'
import type { TokenStore } from './tokens.js'

interface LeaseIssuerOptions {
  readonly leases: Pick<LeaseStore, 'issue'>
  readonly tokens: Pick<TokenStore, 'ownerOf'>
}

/** Stores the leases of secrets that secrets engines return. */
export class LeaseIssuer {
  readonly #options: LeaseIssuerOptions

  constructor(options: LeaseIssuerOptions) {
    this.#options = options
  }

  /**
   * Runs a request that may create a secret, and stores the lease of the secret. If the lease cannot be stored, revokes
   * the secret and rejects.
   */
  async grant<T extends { readonly response: Response | undefined }>(
    request: Request,
    mount: LeaseMount,
    run: () => Promise<T>,
  ): Promise<T> {
    const { leases, tokens } = this.#options
    // Before the secret exists, a token that was revoked in the meantime causes no work.
    const owner = request.token && tokens.ownerOf(request.token)
    const done = await run()
    const { response } = done
    if (!response?.lease) return done
    if (!owner) throw new Error('a request without a token cannot create a lease')
    const { lease, ttlSeconds } = await leases.issue(request, mount, response.lease, owner)
    response.lease = undefined
    response.leaseId = lease.id
    response.leaseDurationSeconds = ttlSeconds
    response.renewable = lease.isRenewable
    return done
  }
}

import type { Log } from '../../base/log.js'
import { PeriodicWork } from '../../base/periodic-work.js'
import type { NamespaceRef } from '../../logical/request.js'
import type { LeaseStore } from '../leases/leases.js'
import type { TokenStore } from './tokens.js'

interface TokenTidyOptions {
  readonly tokens: Pick<TokenStore, 'sweep' | 'removeStray' | 'findStored'>
  readonly leases: Pick<LeaseStore, 'all' | 'end' | 'sweep'>
  readonly namespaces: { all(): readonly Pick<NamespaceRef, 'id'>[] }
  readonly log: Log
}

/**
 * Removes all tokens that are no longer valid: expired ones, and those whose mount, namespace or parent no longer
 * exists. Also revokes the leases of secrets that have expired or lost their token. Runs on request, one run at a time.
 */
export class TokenTidy {
  readonly #work: PeriodicWork
  #isStopped = false

  constructor({ tokens, leases, namespaces, log }: TokenTidyOptions) {
    this.#work = new PeriodicWork(async () => {
      try {
        await tokens.sweep()
        for (const { id } of namespaces.all()) {
          if (this.#isStopped) return
          await tokens.removeStray(id, '')
        }
        for await (const page of leases.all()) {
          if (this.#isStopped) return
          await leases.end(page.filter(({ owner }) => owner !== '' && tokens.findStored(owner) === undefined))
        }
        await leases.sweep()
        log.info('removed the tokens that are no longer valid')
      } catch (error) {
        if (!this.#isStopped) log.warn('cannot remove the tokens that are no longer valid', { error: String(error) })
      }
    })
  }

  /** Starts a run. Returns false if a run is already in progress. */
  begin(): boolean {
    return this.#work.begin()
  }

  /** Resolves when no run is in progress. A run ends after the current namespace. */
  stop(): Promise<void> {
    this.#isStopped = true
    return this.#work.settled()
  }
}

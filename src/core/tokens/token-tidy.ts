import type { Log } from '../../base/log.js'
import { PeriodicWork } from '../../base/periodic-work.js'
import type { NamespaceRef } from '../../logical/request.js'
import type { TokenStore } from './tokens.js'

interface TokenTidyOptions {
  readonly tokens: Pick<TokenStore, 'sweep' | 'removeStray'>
  readonly namespaces: { all(): readonly Pick<NamespaceRef, 'id'>[] }
  readonly log: Log
}

/**
 * Removes all tokens that are no longer valid: expired ones, and those whose mount, namespace or parent no longer
 * exists. Runs on request, one run at a time.
 */
export class TokenTidy {
  readonly #work: PeriodicWork
  #isStopped = false

  constructor({ tokens, namespaces, log }: TokenTidyOptions) {
    this.#work = new PeriodicWork(async () => {
      try {
        await tokens.sweep()
        for (const { id } of namespaces.all()) {
          if (this.#isStopped) return
          await tokens.removeStray(id, '')
        }
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

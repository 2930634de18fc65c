import type { LogicalError } from '../../logical/errors.js'
import type { ClusterService } from './service.js'

/** Returns a service whose every call fails with the current result of `reason`. */
export const refusingService = (reason: () => LogicalError): ClusterService => {
  const refuse = async (): Promise<never> => {
    throw reason()
  }
  return {
    bootstrap: refuse,
    echo: refuse,
    streamWals: refuse,
    conflictingPages: refuse,
    subPageHashes: refuse,
    fetchKeys: () => {
      throw reason()
    },
    forward: refuse,
    ping: refuse,
    commonPosition: refuse,
  }
}

import type { LogicalError } from '../../logical/errors.js'
import { withoutScheme } from './addresses.js'
import { overtakerIn, refusalCodeOf, refusalError } from './refusal.js'
import type { ClusterService } from './service.js'

/**
 * Returns the refusal with which a standby answers every call from another cluster. It contains the active node, if
 * known.
 */
export const standbyRefusal = (
  active:
    | {
        readonly apiAddress: string
        readonly clusterAddress: string
      }
    | undefined,
): LogicalError => {
  if (!active) return refusalError('unavailable', 'this node is not the active node, and no active node is known')
  const { apiAddress, clusterAddress } = active
  const overtaker = { clusterId: '', epochs: [], apiAddress, clusterAddresses: [clusterAddress] }
  return refusalError('standby', `this node is not the active node: use the active node at ${clusterAddress}`, {
    overtaker,
  })
}

/** Returns a service that fails every call with the current result of `reason`. */
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

/**
 * Calls a primary at the address of one of its nodes. If this node is a standby and names the active node, calls the
 * active node.
 */
export const atActiveNode = async <T>(address: string, ask: (address: string) => Promise<T>): Promise<T> => {
  try {
    return await ask(address)
  } catch (error) {
    const [active] = refusalCodeOf(error) === 'standby' ? (overtakerIn(error)?.clusterAddresses ?? []) : []
    if (active === undefined || withoutScheme(active) === withoutScheme(address)) throw error
    return ask(active)
  }
}

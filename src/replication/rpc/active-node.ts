import type { LogicalError } from '../../logical/errors.js'
import { withoutScheme } from './addresses.js'
import { overtakerIn, refusalCodeOf, refusalError } from './refusal.js'

/** What a node of a primary that is not its active one answers to everything: which one is, as far as it knows. */
export const standbyRefusal = (
  active:
    | {
        readonly apiAddress: string
        readonly clusterAddress: string
      }
    | undefined,
): LogicalError => {
  if (!active) return refusalError('unavailable', 'this node is not the active one, and knows of none that is')
  const { apiAddress, clusterAddress } = active
  const overtaker = { clusterId: '', epochs: [], apiAddress, clusterAddresses: [clusterAddress] }
  return refusalError('standby', `this node is not the active one, which is at ${clusterAddress}`, { overtaker })
}

/** Asks a primary at an address of any of its nodes: one that is not active names the one that is, which is asked instead. */
export const atActiveNode = async <T>(address: string, ask: (address: string) => Promise<T>): Promise<T> => {
  try {
    return await ask(address)
  } catch (error) {
    const [active] = refusalCodeOf(error) === 'standby' ? (overtakerIn(error)?.clusterAddresses ?? []) : []
    if (active === undefined || withoutScheme(active) === withoutScheme(address)) throw error
    return ask(active)
  }
}

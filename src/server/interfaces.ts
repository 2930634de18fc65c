import { networkInterfaces } from 'node:os'
import type { Findings } from './config/tree.js'

/** The first address of a network interface, IPv4 before IPv6. Undefined when no name is given. */
export const addressOfInterface = (
  name: string | undefined,
  origin: string,
  findings: Findings,
): string | undefined => {
  if (!name) return undefined
  const addresses = networkInterfaces()[name] ?? []
  const found = addresses.find(({ family }) => family === 'IPv4') ?? addresses[0]
  if (!found) findings.problems.push({ origin, text: `there is no network interface "${name}" with an address` })
  return found?.address
}

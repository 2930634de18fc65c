import { attempt } from './attempt.js'
import { readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'

/** One address of a network interface of this machine. */
export interface NetworkAddress {
  /** The name of its interface. */
  readonly name: string
  readonly address: string
  /** The length of the network prefix in bits. */
  readonly prefixLength: number
  /** Whether the default route uses its interface. */
  readonly isDefault: boolean
}

/** Returns all addresses of this machine, in system order. The default route is known only on Linux. */
export const systemAddresses = (): readonly NetworkAddress[] => {
  const defaultName = defaultInterface()
  return Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
    addresses.map(({ address, cidr }) => ({
      name,
      address,
      prefixLength: Number(/\/(\d+)$/.exec(cidr ?? '')?.[1] ?? (isIPv6(address) ? 128 : 32)),
      isDefault: name === defaultName,
    })),
  )
}

/**
 * Returns the interface of the default route. The kernel lists each route with interface and destination; the default route
 * has destination zero.
 */
const defaultInterface = (): string | undefined =>
  attempt(() => /^(\S+)\t00000000\t/m.exec(readFileSync('/proc/net/route', 'ascii'))?.[1])

/** Returns the first address of a network interface, preferring IPv4. */
export const addressOfInterface = (addresses: readonly NetworkAddress[], name: string): string | undefined => {
  const own = addresses.filter((one) => one.name === name)
  return (own.find(({ address }) => !isIPv6(address)) ?? own[0])?.address
}

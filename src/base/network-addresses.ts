import { attempt } from './attempt.js'
import { readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'

/** One address of a network interface of this machine. */
export interface NetworkAddress {
  /** The name of the network interface. */
  readonly name: string
  readonly address: string
  /** The length of the network prefix in bits. */
  readonly prefixLength: number
  /** True if the default route uses the interface. */
  readonly isDefault: boolean
}

/** Returns all addresses of this machine, in the order of the system. Only on Linux, the default route is known. */
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
 * Returns the interface of the default route. The kernel lists the interface and the destination of each route. The
 * destination of the default route is zero.
 */
const defaultInterface = (): string | undefined =>
  attempt(() => /^(\S+)\t00000000\t/m.exec(readFileSync('/proc/net/route', 'ascii'))?.[1])

/** Returns the first IPv4 address of a network interface, or its first address if it has no IPv4 address. */
export const addressOfInterface = (addresses: readonly NetworkAddress[], name: string): string | undefined => {
  const own = addresses.filter((one) => one.name === name)
  return (own.find(({ address }) => !isIPv6(address)) ?? own[0])?.address
}

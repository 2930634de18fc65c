import { readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'

/** One address of a network interface of this machine. */
export interface NetworkAddress {
  /** The name of its interface. */
  readonly name: string
  readonly address: string
  /** Leading bits that name the network. */
  readonly prefixLength: number
  /** Whether the default route of the machine goes through its interface. */
  readonly isDefault: boolean
}

/** All addresses of this machine, in the order of the system. Only Linux tells the default route. */
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

/** The kernel lists a route as interface, destination and more; the destination of the default route is zero. */
const defaultInterface = (): string | undefined => {
  try {
    return /^(\S+)\t00000000\t/m.exec(readFileSync('/proc/net/route', 'ascii'))?.[1]
  } catch {
    return undefined
  }
}

/** The first address of a network interface, IPv4 before IPv6. */
export const addressOfInterface = (addresses: readonly NetworkAddress[], name: string): string | undefined => {
  const own = addresses.filter((one) => one.name === name)
  return (own.find(({ address }) => !isIPv6(address)) ?? own[0])?.address
}

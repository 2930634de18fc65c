/** Returns the `host:port` part of an address that may include a scheme. */
export const withoutScheme = (address: string): string => address.replace(/^[a-z]+:\/\//i, '').replace(/\/+$/, '')

/** Returns the address with the scheme `https`, because cluster ports always use TLS. An empty address stays empty. */
export const withScheme = (address: string): string => (address === '' ? '' : `https://${withoutScheme(address)}`)

/** Addresses of cluster ports. */

/** `host:port` of an address that may carry a scheme. */
export const withoutScheme = (address: string): string => address.replace(/^[a-z]+:\/\//i, '').replace(/\/+$/, '')

/** Addresses of cluster ports are shown as `https://host:port`, whatever scheme they were given with: they speak TLS. */
export const withScheme = (address: string): string => (address === '' ? '' : `https://${withoutScheme(address)}`)

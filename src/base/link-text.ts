/** Readable texts for connection failures: what happened, and what to check. They never include library dumps. */

interface LinkSurroundings {
  /** TLS was used on the connection, or attempted. */
  readonly isTls: boolean
  /** Advice if the peer's certificate was issued by an unknown authority. */
  readonly authorityHint: string
}

const BY_CODE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused: no server listens there',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the host name cannot be resolved now',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'the network is unreachable',
  ETIMEDOUT: 'the connection timed out',
  CERT_HAS_EXPIRED: 'x509: the certificate has expired',
  CERT_NOT_YET_VALID: 'x509: the certificate is not valid yet. Check the clocks',
  ERR_TLS_CERT_ALTNAME_INVALID: 'x509: the certificate is not valid for the host of the address',
}

const UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** Errors of the TLS library that mean that the peer does not use TLS. */
const NO_TLS = /wrong version number|packet length too long|unknown protocol|http request/i
const TLS_DUMP = /SSL routines|error:[0-9A-F]{8}:/
const CLOSED = /socket hang up|ECONNRESET|EPIPE|disconnected before secure TLS/
const NO_HTTP = /Parse Error|Expected HTTP|HPE_/

/** Returns true if an error was caused by a port without a listener: the request was not executed. */
export const isRefused = ({ cause }: Error): boolean =>
  (cause as NodeJS.ErrnoException | undefined)?.code === 'ECONNREFUSED'

/** Describes a failure in one line that ends with the system's error code. */
export const linkText = (error: unknown, { isTls, authorityHint }: LinkSurroundings): string => {
  if (!(error instanceof Error)) return String(error)
  const { code = '', reason } = error as Error & { readonly code?: string; readonly reason?: unknown }
  const text = `${code} ${error.message}`
  if (UNKNOWN_AUTHORITY.has(code)) return `x509: certificate signed by unknown authority, ${authorityHint}`
  const known = BY_CODE[code]
  if (known !== undefined) return code.startsWith('E') && !code.startsWith('ERR_') ? `${known} (${code})` : known
  if (isTls && NO_TLS.test(text)) return 'the server does not use TLS: https:// on an http port?'
  if (!isTls && NO_HTTP.test(text)) return 'the server does not use plain HTTP: http:// on an https port?'
  if (CLOSED.test(text))
    return `the connection was closed before a response arrived${isTls ? '' : ': has the server stopped, or is it http:// on an https port?'}`
  if (TLS_DUMP.test(error.message))
    return `TLS failed: ${typeof reason === 'string' ? reason : 'the peer rejected the connection'}`
  return error.message.split('\n')[0] ?? ''
}

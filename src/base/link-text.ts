/**
 * Describes connection failures: what happened, and what to check. The texts never contain messages of libraries that
 * users cannot read.
 */

interface LinkContext {
  /** True if the connection used TLS, or attempted to. */
  readonly isTls: boolean
  /** The advice for a certificate of the peer that an unknown authority issued. */
  readonly authorityHint: string
}

const BY_CODE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused: no server listens at this address',
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

/** The errors of the TLS library for a peer that does not use TLS. */
const NO_TLS = /wrong version number|packet length too long|unknown protocol|http request/i
const TLS_DUMP = /SSL routines|error:[0-9A-F]{8}:/
const CLOSED = /socket hang up|ECONNRESET|EPIPE|disconnected before secure TLS/
const NO_HTTP = /Parse Error|Expected HTTP|HPE_/
const CLOSED_HINT = ': check that the server runs, and that the address starts with https:// if the server uses TLS'

/** Returns true if the cause of an error is a port without a listener. The request was then not executed. */
export const isRefused = ({ cause }: Error): boolean =>
  (cause as NodeJS.ErrnoException | undefined)?.code === 'ECONNREFUSED'

/** Describes a failure in one line that ends with the system's error code. */
export const linkText = (error: unknown, { isTls, authorityHint }: LinkContext): string => {
  if (!(error instanceof Error)) return String(error)
  const { code = '', reason } = error as Error & { readonly code?: string; readonly reason?: unknown }
  const text = `${code} ${error.message}`
  if (UNKNOWN_AUTHORITY.has(code)) return `x509: certificate signed by unknown authority, ${authorityHint}`
  const known = BY_CODE[code]
  if (known !== undefined) return code.startsWith('E') && !code.startsWith('ERR_') ? `${known} (${code})` : known
  if (isTls && NO_TLS.test(text)) return 'the server does not use TLS: use http:// instead of https://'
  if (!isTls && NO_HTTP.test(text)) return 'the server does not use plain HTTP: use https:// instead of http://'
  if (CLOSED.test(text)) return `the connection was closed before a response arrived${isTls ? '' : CLOSED_HINT}`
  if (TLS_DUMP.test(error.message))
    return `TLS failed: ${typeof reason === 'string' ? reason : 'the peer rejected the connection'}`
  return error.message.split('\n')[0] ?? ''
}

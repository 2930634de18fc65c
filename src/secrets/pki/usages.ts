/** The names of key usages and extended key usages. */
import { KEY_USAGES } from '../../crypto/x509-content.js'
import { invalid } from '../../logical/errors.js'

const KEY_USAGE_BITS = new Map(Object.entries(KEY_USAGES).map(([name, bit]) => [name.toLowerCase(), bit]))

const EXT_KEY_USAGES = {
  any: '2.5.29.37.0',
  serverauth: '1.3.6.1.5.5.7.3.1',
  clientauth: '1.3.6.1.5.5.7.3.2',
  codesigning: '1.3.6.1.5.5.7.3.3',
  emailprotection: '1.3.6.1.5.5.7.3.4',
  ipsecendsystem: '1.3.6.1.5.5.7.3.5',
  ipsectunnel: '1.3.6.1.5.5.7.3.6',
  ipsecuser: '1.3.6.1.5.5.7.3.7',
  timestamping: '1.3.6.1.5.5.7.3.8',
  ocspsigning: '1.3.6.1.5.5.7.3.9',
  microsoftservergatedcrypto: '1.3.6.1.4.1.311.10.3.3',
  netscapeservergatedcrypto: '2.16.840.1.113730.4.1',
  microsoftcommercialcodesigning: '1.3.6.1.4.1.311.2.1.22',
  microsoftkernelcodesigning: '1.3.6.1.4.1.311.61.1.1',
} as const

export const isOid = (text: string): boolean => /^[0-2](?:\.\d{1,20}){1,30}$/.test(text)

/** Throws LogicalError 400 for an extended key usage that is not an object identifier. */
export const checkUsageOids = (oids: readonly string[]): void => {
  const wrong = oids.find((text) => !isOid(text))
  if (wrong !== undefined) {
    throw invalid(`${JSON.stringify(wrong)} could not be parsed as a valid oid for an extended key usage`)
  }
}

/** Throws LogicalError 400 for a policy that is not an object identifier. */
export const checkPolicyOids = (oids: readonly string[]): void => {
  const wrong = oids.find((text) => !isOid(text))
  if (wrong !== undefined) throw invalid(`Policy Identifier ${JSON.stringify(wrong)} is not a valid OID`)
}

/** Returns the bits of key usages; unknown names have none, as in Vault. The prefix `KeyUsage` is optional. */
export const keyUsageBits = (names: readonly string[]): number =>
  names.reduce((bits, name) => bits | (KEY_USAGE_BITS.get(plain(name, 'keyusage')) ?? 0), 0)

const plain = (name: string, prefix: string): string => {
  const lower = name.trim().toLowerCase()
  return lower.startsWith(prefix) ? lower.slice(prefix.length) : lower
}

interface ExtKeyUsageFields {
  readonly server_flag?: boolean
  readonly client_flag?: boolean
  readonly code_signing_flag?: boolean
  readonly email_protection_flag?: boolean
  readonly ext_key_usage: readonly string[]
  readonly ext_key_usage_oids: readonly string[]
}

/** Returns the object identifiers of extended key usages, each once; unknown names have none. */
export const extKeyUsageOids = (fields: ExtKeyUsageFields): string[] => {
  const named = fields.ext_key_usage.flatMap((name) => {
    const key = plain(name, 'extkeyusage')
    return Object.hasOwn(EXT_KEY_USAGES, key) ? [EXT_KEY_USAGES[key as keyof typeof EXT_KEY_USAGES]] : []
  })
  const flags = [
    fields.server_flag && EXT_KEY_USAGES.serverauth,
    fields.client_flag && EXT_KEY_USAGES.clientauth,
    fields.code_signing_flag && EXT_KEY_USAGES.codesigning,
    fields.email_protection_flag && EXT_KEY_USAGES.emailprotection,
  ].filter((oid) => typeof oid === 'string')
  return [...new Set([...flags, ...named, ...fields.ext_key_usage_oids])]
}

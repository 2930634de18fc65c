/** Names of response fields whose value is a secret. */
const FIELDS = 'token|client_token|encoded_token|encoded_root_token|root_token|otp|secret_id'

/** Patterns of secrets, each with its replacement. A placeholder names the kind of secret, such as `<token>`. */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\b(dr_operation_token|token|key|secret_id|password|otp|nonce)=(?!['"]?[<$])('[^']*'|\S+)/g, "$1='<$1>'"],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, '<activation token>'],
  [/\bhv[bsr]\.[\w-]{8,}/g, '<token>'],
  [/\b[sb]\.[A-Za-z0-9]{24,}\b/g, '<token>'],
  // The output of the command line: text, tables and JSON.
  [/\b((?:Unseal|Recovery) Key \d+(?: \([^)]*\))?:\s*)\S+/gi, '$1<key share>'],
  [/^(\s*(?:(?:Initial )?Root Token|Encoded Token|OTP):?\s+)\S+\s*$/gim, '$1<token>'],
  [new RegExp(`^(\\s*(?:${FIELDS})\\s+)\\S+\\s*$`, 'gim'), '$1<token>'],
  [new RegExp(`("(?:${FIELDS})"\\s*:\\s*)"[^"]*"`, 'g'), '$1"<token>"'],
  [/("(?:keys|keys_base64|unseal_keys_\w+|recovery_keys(?:_\w+)?)"\s*:\s*)\[[^\]]*\]/g, '$1["<key share>"]'],
]

const concealText = (text: string): string =>
  PATTERNS.reduce((result, [pattern, placeholder]) => result.replace(pattern, placeholder), text)

/**
 * Returns a copy with placeholders in place of tokens and key shares, since reports are shared and stored for years.
 * Such secrets can occur in error messages of servers and in the output of commands.
 */
export const conceal = <T>(value: T): T => concealValue(value) as T

const concealValue = (value: unknown): unknown => {
  if (typeof value === 'string') return concealText(value)
  if (Array.isArray(value)) return value.map(concealValue)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [concealText(key), concealValue(inner)]))
}

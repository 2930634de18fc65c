/** Names whose values never appear in a log line, in lower case and without dashes and underscores. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  'authorization',
  'clientkey',
  'clientkeypem',
  'clienttoken',
  'droperationtoken',
  'encodedtoken',
  'jwt',
  'key',
  'keys',
  'keysbase64',
  'otp',
  'password',
  'privatekey',
  'rootkey',
  'roottoken',
  'secret',
  'secretid',
  'token',
  'tokens',
  'unsealkeys',
  'wrappingtoken',
  'xvaulttoken',
])

const HIDDEN = '[hidden]'
/** Maximum depth of log fields. Deeper values were passed by mistake and are omitted. */
const DEPTH_MAX = 16
const TOO_DEEP = '[too deep]'

/**
 * Returns a copy of log fields with every secret value hidden at any depth: in objects, lists, maps, and errors with
 * their causes. Bytes are never shown. Cycles are handled.
 */
export const redact = (fields: Record<string, unknown>): Record<string, unknown> =>
  redactMembers(Object.entries(fields), 0)

const redactMembers = (members: Iterable<readonly [unknown, unknown]>, depth: number): Record<string, unknown> =>
  Object.fromEntries(
    Array.from(members, ([name, value]) => [name, isSecret(String(name)) ? HIDDEN : redactValue(value, depth + 1)]),
  )

const isSecret = (name: string): boolean => SECRET_NAMES.has(name.toLowerCase().replace(/[-_]/g, ''))

const redactValue = (value: unknown, depth: number): unknown => {
  if (typeof value === 'bigint' || typeof value === 'symbol' || typeof value === 'function') return String(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth > DEPTH_MAX) return TOO_DEEP
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (value instanceof Error) return redactError(value, depth)
  if (value instanceof Date) return value
  if (value instanceof Map) return redactMembers(value, depth)
  if (Array.isArray(value) || value instanceof Set) return Array.from(value, (item) => redactValue(item, depth + 1))
  return redactMembers(Object.entries(value), depth)
}

const redactError = (error: Error, depth: number): Record<string, unknown> => ({
  type: error.name,
  message: error.message,
  stack: error.stack,
  ...redactMembers(Object.entries(error), depth),
  ...(error.cause !== undefined && { cause: redactValue(error.cause, depth + 1) }),
})

/** Parses the flags of commands. Tables declare the flags. */
import { formatGoDuration, parseDurationMs } from '../../base/duration.js'
import { type FlagForm, type FoundFlag, isFlag, parseSwitch, readFlag } from '../../base/go-flags.js'
import { nearest } from '../../base/nearest.js'
import { localError } from './model.js'

/**
 * Maps the kind of a flag to the type of its value. For a flag that is not set, a number or duration is undefined, and
 * a text is empty.
 */
interface FlagValue {
  bool: boolean
  text: string
  int: number | undefined
  /** A duration in Go's format, such as `1h0m0s`. */
  duration: string | undefined
  list: readonly string[]
  texts: readonly string[]
  pairs: Readonly<Record<string, string>>
}

type FlagKind = keyof FlagValue

export interface Flag<K extends FlagKind = FlagKind> {
  readonly kind: K
  readonly help: string
  readonly aliases: readonly string[]
  /** Environment variables for a flag that the command line does not set. The first that is not empty is used. */
  readonly env: readonly string[]
  readonly fallback: string | undefined
}

export type FlagTable = Readonly<Record<string, Flag>>
export type FlagValues<F extends FlagTable> = { readonly [N in keyof F]: FlagValue[F[N]['kind']] }
type Extras = Partial<Pick<Flag, 'aliases' | 'env' | 'fallback'>>

const declare =
  <K extends FlagKind>(kind: K) =>
  (help: string, { aliases = [], env = [], fallback }: Extras = {}): Flag<K> => ({ kind, help, aliases, env, fallback })

export const flag = {
  bool: declare('bool'),
  text: declare('text'),
  int: declare('int'),
  duration: declare('duration'),
  /** A list of values, separated by commas or by repeating the flag. */
  list: declare('list'),
  /** A list of values. The flag is repeated for each value. */
  texts: declare('texts'),
  /** A map. The flag is repeated for each `key=value`. */
  pairs: declare('pairs'),
} as const

/**
 * The parsed command line. `written` maps the main name of each flag to its values, and `positional` are the arguments.
 */
export interface ParsedArguments {
  readonly written: ReadonlyMap<string, readonly string[]>
  readonly positional: readonly string[]
  readonly isHelpWanted: boolean
}

/** Returns a map from every name and alias to the form of its flag. */
const formsOf = (table: FlagTable): ReadonlyMap<string, FlagForm> =>
  new Map(
    Object.entries(table).flatMap(([name, { kind, aliases }]) =>
      [name, ...aliases].map((each) => [each, { name, isSwitch: kind === 'bool' }] as const),
    ),
  )

/**
 * Parses the flags and the arguments. The flags end at `--` or at the first argument. Only the flags in `late` are also
 * accepted after an argument. Throws a local error for an unknown flag and for a flag without a value.
 */
export const parseArguments = (
  args: readonly string[],
  table: FlagTable,
  late: ReadonlySet<string> = new Set(),
): ParsedArguments => {
  const forms = formsOf(table)
  const written = new Map<string, string[]>()
  const positional: string[] = []
  let isLate = false
  const formOf = (given: string): FlagForm | undefined => {
    const form = forms.get(given)
    return form && isLate && !late.has(form.name) ? undefined : form
  }
  for (let at = 0; at < args.length; ) {
    const arg = args[at] ?? ''
    if (arg === '--') {
      positional.push(...args.slice(isLate ? at : at + 1))
      break
    }
    isLate ||= !isFlag(arg)
    const found: FoundFlag = isFlag(arg) ? readFlag(args.slice(at), formOf) : { kind: 'unknown', given: arg }
    if (found.kind === 'valueless') throw localError(`flag needs an argument: -${found.given}`)
    if (found.kind === 'flag') {
      written.set(found.name, [...(written.get(found.name) ?? []), found.text])
      at += found.width
    } else if (isLate) {
      positional.push(arg)
      at++
    } else if (HELP.has(found.given)) return { written, positional: [], isHelpWanted: true }
    else throw localError(`flag provided but not defined: -${found.given}${hintFor(found.given, [...forms.keys()])}`)
  }
  return { written, positional, isHelpWanted: false }
}

const HELP: ReadonlySet<string> = new Set(['h', 'help'])

const hintFor = (given: string, known: readonly string[]): string => {
  const guess = nearest(given, known)
  return guess === undefined ? '' : `\nDid you mean -${guess}?`
}

/**
 * Returns the number of elements of `args` that the flag at its start uses: 1, or 2 with a separate value. Returns 0 if
 * `args` does not start with a flag of this table.
 */
export const flagWidth = (args: readonly string[], table: FlagTable): 0 | 1 | 2 => {
  if (!isFlag(args[0] ?? '')) return 0
  const forms = formsOf(table)
  const found = readFlag(args, (given) => forms.get(given))
  if (found.kind === 'unknown') return 0
  return found.kind === 'valueless' ? 2 : found.width
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Returns the values of all flags of a table. A value comes from the command line, else from the environment, else from
 * the default. Throws a local error for an invalid value.
 */
export const flagValues = <F extends FlagTable>(
  table: F,
  { written }: Pick<ParsedArguments, 'written'>,
  env: Environment,
): FlagValues<F> => {
  const read = (name: string, spec: Flag): unknown => {
    const fromEnv = spec.env.map((variable) => env[variable]).find((value) => value)
    const texts = written.get(name) ?? [fromEnv ?? spec.fallback].filter((text) => text !== undefined)
    return READERS[spec.kind](texts, (text, expected) =>
      localError(`invalid value ${JSON.stringify(text)} for flag -${name}: expected ${expected}`),
    )
  }
  return Object.fromEntries(Object.entries(table).map(([name, spec]) => [name, read(name, spec)])) as FlagValues<F>
}

type CreateError = (text: string, expected: string) => Error

const READERS: { readonly [K in FlagKind]: (texts: readonly string[], createError: CreateError) => FlagValue[K] } = {
  bool: (texts, createError) => {
    const text = texts.at(-1) ?? 'false'
    const value = parseSwitch(text)
    if (value === undefined) throw createError(text, 'true or false')
    return value
  },
  text: (texts) => texts.at(-1) ?? '',
  int: (texts, createError) => {
    const text = texts.at(-1)
    if (text === undefined) return undefined
    if (!/^[+-]?\d+$/.test(text)) throw createError(text, 'a whole number')
    return Number(text)
  },
  duration: (texts, createError) => {
    const text = texts.at(-1)
    if (text === undefined) return undefined
    const ms = parseDurationMs(text)
    if (ms === undefined) throw createError(text, 'a duration such as 90s or 1h')
    return formatGoDuration(ms / 1000)
  },
  list: (texts) => texts.flatMap((text) => text.split(',')).flatMap((text) => text.trim() || []),
  texts: (texts) => texts.map((text) => text.trim()),
  pairs: (texts, createError) =>
    Object.fromEntries(
      texts.map((text) => {
        const at = text.indexOf('=')
        if (at < 1) throw createError(text, 'key=value')
        return [text.slice(0, at), text.slice(at + 1)] as const
      }),
    ),
}

/** The flags that every command accepts. */
export const COMMON_FLAGS = {
  address: flag.text('Address of the server.', { env: ['VAULT_AGENT_ADDR', 'VAULT_ADDR'] }),
  'agent-address': flag.text('Address of an agent. Takes precedence over -address.'),
  'ca-cert': flag.text('CA certificate file that verifies the server.', { env: ['VAULT_CACERT'] }),
  'ca-path': flag.text('Directory of CA certificate files.', { env: ['VAULT_CAPATH'] }),
  'client-cert': flag.text('Client certificate file.', { env: ['VAULT_CLIENT_CERT'] }),
  'client-key': flag.text('Private key file of the client certificate.', { env: ['VAULT_CLIENT_KEY'] }),
  'tls-server-name': flag.text('Expected host name in the certificate of the server.', {
    env: ['VAULT_TLS_SERVER_NAME'],
  }),
  'tls-skip-verify': flag.bool('Do not verify the certificate of the server.', { env: ['VAULT_SKIP_VERIFY'] }),
  namespace: flag.text('Namespace of the request.', { aliases: ['ns'], env: ['VAULT_NAMESPACE'] }),
  header: flag.pairs('Header to send, as name=value; may be repeated.'),
  'wrap-ttl': flag.text('Wrap the response in a token with this TTL.', { env: ['VAULT_WRAP_TTL'] }),
  'non-interactive': flag.bool('Never prompt for input.'),
  'output-curl-string': flag.bool('Print the request as a curl command, and do not send the request.'),
  'output-policy': flag.bool('Print the policy that permits the request, and do not send the request.'),
  'policy-override': flag.bool('Accepted without effect: this server has no soft-mandatory policies.'),
  mfa: flag.list('Accepted without effect: this server has no multi-factor authentication.', { env: ['VAULT_MFA'] }),
  format: flag.text('Output format: table, json, yaml or raw.', { env: ['VAULT_FORMAT'], fallback: 'table' }),
  field: flag.text('Print only this field.'),
} as const

/** The output flags, which may also follow the arguments, as in Vault. All other flags must precede the arguments. */
export const LATE_FLAGS: ReadonlySet<string> = new Set(['format', 'detailed', 'output-curl-string', 'output-policy'])

export type CommonFlags = FlagValues<typeof COMMON_FLAGS>

export const INCREMENT_FLAG = { increment: flag.duration('Additional lifetime.', { aliases: ['i'] }) } as const
export const DETAILED_FLAG = { detailed: flag.bool('Show all settings.') } as const

/** The flag of commands that a DR secondary accepts with an operation token. */
export const DR_FLAG = { 'dr-token': flag.text('Operation token of a DR secondary.') } as const

export const drQuery = ({ 'dr-token': token }: FlagValues<typeof DR_FLAG>) => ({
  query: token ? { dr_operation_token: token } : {},
})

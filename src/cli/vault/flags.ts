/** The flags of commands, declared as tables. */
import { formatGoDuration, parseDurationMs } from '../../base/duration.js'
import { type FlagForm, type FoundFlag, isFlag, parseSwitch, readFlag } from '../../base/go-flags.js'
import { nearest } from '../../base/nearest.js'
import { localError } from './model.js'

/**
 * Maps the kind of a flag to the type of its value. An absent number or duration is undefined; an absent text is empty.
 */
interface FlagValue {
  bool: boolean
  text: string
  int: number | undefined
  /** In the form `1h0m0s`. */
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
  /** Environment variables to read, in this order, if the flag is not given. */
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
  /** May be repeated; commas also separate values. */
  list: declare('list'),
  /** May be repeated. */
  texts: declare('texts'),
  /** `key=value`, may be repeated. */
  pairs: declare('pairs'),
} as const

/** The parsed command line: values by the main names of the flags, and the arguments. */
export interface ParsedArguments {
  readonly written: ReadonlyMap<string, readonly string[]>
  readonly positional: readonly string[]
  readonly isHelpWanted: boolean
}

/** Returns the form of a flag by each of its names. */
const formsOf = (table: FlagTable): ReadonlyMap<string, FlagForm> =>
  new Map(
    Object.entries(table).flatMap(([name, { kind, aliases }]) =>
      [name, ...aliases].map((each) => [each, { name, isSwitch: kind === 'bool' }] as const),
    ),
  )

/**
 * Parses flags, which precede the arguments. The flags end at `--` or at the first argument that is not a flag. Flags in
 * `late` are accepted anywhere before `--`.
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
    else throw localError(`flag provided but not defined: -${found.given}${meantFlag(found.given, [...forms.keys()])}`)
  }
  return { written, positional, isHelpWanted: false }
}

const HELP: ReadonlySet<string> = new Set(['h', 'help'])

const meantFlag = (given: string, known: readonly string[]): string => {
  const guess = nearest(given, known)
  return guess === undefined ? '' : `\nDid you mean -${guess}?`
}

/** Returns the number of leading `args` that form one flag of this table with its value: 0, 1 or 2. */
export const flagWidth = (args: readonly string[], table: FlagTable): 0 | 1 | 2 => {
  if (!isFlag(args[0] ?? '')) return 0
  const forms = formsOf(table)
  const found = readFlag(args, (given) => forms.get(given))
  if (found.kind === 'unknown') return 0
  return found.kind === 'valueless' ? 2 : found.width
}

type Environment = Readonly<Record<string, string | undefined>>

/** Returns the values of all flags of a table: as given, else from the environment, else the default. */
export const flagValues = <F extends FlagTable>(
  table: F,
  { written }: Pick<ParsedArguments, 'written'>,
  env: Environment,
): FlagValues<F> => {
  const read = (name: string, spec: Flag): unknown => {
    const fromEnv = spec.env.map((variable) => env[variable]).find((value) => value)
    const texts = written.get(name) ?? [fromEnv ?? spec.fallback].filter((text) => text !== undefined)
    return READERS[spec.kind](texts, (text, wanted) =>
      localError(`invalid value ${JSON.stringify(text)} for flag -${name}: expected ${wanted}`),
    )
  }
  return Object.fromEntries(Object.entries(table).map(([name, spec]) => [name, read(name, spec)])) as FlagValues<F>
}

type Refuse = (text: string, wanted: string) => Error

const READERS: { readonly [K in FlagKind]: (texts: readonly string[], refuse: Refuse) => FlagValue[K] } = {
  bool: (texts, refuse) => {
    const text = texts.at(-1) ?? 'false'
    const value = parseSwitch(text)
    if (value === undefined) throw refuse(text, 'true or false')
    return value
  },
  text: (texts) => texts.at(-1) ?? '',
  int: (texts, refuse) => {
    const text = texts.at(-1)
    if (text === undefined) return undefined
    if (!/^[+-]?\d+$/.test(text)) throw refuse(text, 'a whole number')
    return Number(text)
  },
  duration: (texts, refuse) => {
    const text = texts.at(-1)
    if (text === undefined) return undefined
    const ms = parseDurationMs(text)
    if (ms === undefined) throw refuse(text, 'a duration such as 90s or 1h')
    return formatGoDuration(ms / 1000)
  },
  list: (texts) => texts.flatMap((text) => text.split(',')).flatMap((text) => text.trim() || []),
  texts: (texts) => texts.map((text) => text.trim()),
  pairs: (texts, refuse) =>
    Object.fromEntries(
      texts.map((text) => {
        const at = text.indexOf('=')
        if (at < 1) throw refuse(text, 'key=value')
        return [text.slice(0, at), text.slice(at + 1)] as const
      }),
    ),
}

/** Flags of every command: address, credentials and output format. */
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
  'output-curl-string': flag.bool('Print the request as a curl command and do not send it.'),
  'output-policy': flag.bool('Print the policy that the request needs and do not send it.'),
  'policy-override': flag.bool('Accepted without effect: this server has no soft-mandatory policies.'),
  mfa: flag.list('Accepted without effect: this server has no multi-factor authentication.', { env: ['VAULT_MFA'] }),
  format: flag.text('Output format: table, json, yaml or raw.', { env: ['VAULT_FORMAT'], fallback: 'table' }),
  field: flag.text('Print only this field.'),
} as const

/** Output flags, which Vault accepts at any position. All others must precede the arguments. */
export const LATE_FLAGS: ReadonlySet<string> = new Set(['format', 'detailed', 'output-curl-string', 'output-policy'])

export type CommonFlags = FlagValues<typeof COMMON_FLAGS>

export const INCREMENT_FLAG = { increment: flag.duration('Additional lifetime.', { aliases: ['i'] }) } as const
export const DETAILED_FLAG = { detailed: flag.bool('Show all settings.') } as const

/** The flag for commands that a DR secondary accepts with an operation token. `drQuery` adds the token to a request. */
export const DR_FLAG = { 'dr-token': flag.text('Operation token of a DR secondary.') } as const

export const drQuery = ({ 'dr-token': token }: FlagValues<typeof DR_FLAG>) => ({
  query: token ? { dr_operation_token: token } : {},
})

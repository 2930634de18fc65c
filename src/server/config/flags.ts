import { type FlagForm, parseSwitch, readFlag } from '../../base/go-flags.js'
import { nearest } from '../../base/nearest.js'

/**
 * The parsed flags of a server. The value of an absent flag is undefined. `warnings` lists given flags that have no
 * effect.
 */
export type ServerFlags = ReturnType<typeof flagsOf>

interface FlagKind {
  /** Placeholder of the value in the help; undefined for a flag without a value. */
  readonly value?: string
  readonly help: string
  /** Warning about a flag that has no effect. */
  readonly warning?: string
  /** Error message about a flag that is not supported. */
  readonly refusal?: string
}

const NO_LATENCY = 'it has no effect; "understudy fault latency" delays the links of a lab'
const NO_PLUGINS = 'it has no effect: plugins are not supported'
const IGNORED = 'Ignored with a warning'

const FLAGS: Readonly<Record<string, FlagKind>> = {
  config: {
    value: 'path',
    help: 'Configuration file (HCL or JSON), or a directory of such files; repeatable',
  },
  dev: { help: 'Development mode: in memory, initialized and unsealed; prints a root token' },
  'dev-root-token-id': { value: 'token', help: 'Root token of -dev (environment: VAULT_DEV_ROOT_TOKEN_ID)' },
  'dev-listen-address': {
    value: 'address',
    help: 'Address of -dev; default: 127.0.0.1:8200 (environment: VAULT_DEV_LISTEN_ADDRESS)',
  },
  'dev-kv-v1': { help: 'With -dev, mount kv version 1 at secret/' },
  'dev-no-kv': { help: 'With -dev, do not mount kv at secret/' },
  'dev-no-store-token': { help: 'Accepted without effect: -dev never stores its root token' },
  'dev-ha': { help: 'Implies -dev; reports the storage type "inmem_ha"' },
  'dev-transactional': { help: 'Implies -dev; reports the storage type "inmem_transactional"' },
  'dev-three-node': {
    help: 'Implies -dev-tls; runs three nodes in this process, on three ports from the listen address',
  },
  'dev-four-cluster': {
    help: 'Not supported: use "understudy up four"',
    refusal: '-dev-four-cluster is not supported: use "understudy up four"',
  },
  'dev-latency': { value: 'milliseconds', help: IGNORED, warning: NO_LATENCY },
  'dev-latency-jitter': { value: 'percent', help: IGNORED, warning: NO_LATENCY },
  'dev-leased-kv': { help: IGNORED, warning: 'it has no effect: secrets of kv have no lease' },
  'dev-plugin-dir': { value: 'directory', help: IGNORED, warning: NO_PLUGINS },
  'dev-plugin-init': { help: IGNORED, warning: NO_PLUGINS },
  'dev-tls': { help: 'Serve -dev over TLS, with certificates generated at start' },
  'dev-tls-cert-dir': {
    value: 'directory',
    help: 'Directory for the certificates of -dev-tls; default: a temporary directory',
  },
  'dev-tls-san': {
    value: 'name',
    help: 'Additional name or address in the certificate of -dev-tls; repeatable',
  },
  'data-dir': { value: 'directory', help: 'With -dev, store the data in this directory instead of memory' },
  'log-level': { value: 'level', help: 'trace, debug, info, warn or error' },
  'log-format': { value: 'format', help: 'standard or json; default: standard on a terminal, otherwise json' },
  'log-file': { value: 'path', help: 'Log file; default: standard error' },
  'log-rotate-bytes': {
    value: 'bytes',
    help: 'Accepted without effect: logs are not rotated; SIGHUP reopens the file',
  },
  'log-rotate-duration': { value: 'duration', help: 'Accepted without effect' },
  'log-rotate-max-files': { value: 'count', help: 'Accepted without effect' },
  'exit-on-core-shutdown': { help: 'Accepted without effect' },
  recovery: {
    help: 'Not supported: stop the server and use "understudy storage verify"',
    refusal: 'recovery mode is not supported: stop the server and use "understudy storage verify"',
  },
}

/** Returns each flag as it is given on the command line, with its description. */
export const listServerFlags = (): (readonly [flag: string, help: string])[] =>
  Object.entries(FLAGS).map(([name, { value, help }]) => [`-${name}${value ? `=<${value}>` : ''}`, help])

export const describeServerFlags = (): string => {
  const rows = listServerFlags()
  const width = Math.max(...rows.map(([flag]) => flag.length))
  return rows.map(([flag, help]) => `  ${flag.padEnd(width)}  ${help}`).join('\n')
}

/** Flags that imply `-dev`, as in Vault. */
const IMPLIES_DEV = 'dev dev-tls dev-ha dev-transactional dev-three-node dev-kv-v1 dev-no-kv dev-leased-kv'.split(' ')

type ParsedFlags =
  | { readonly ok: true; readonly flags: ServerFlags }
  | { readonly ok: false; readonly problems: readonly string[] }

/** Parses the arguments after `server`. Returns all errors, not only the first. */
export const parseServerFlags = (args: readonly string[]): ParsedFlags => {
  const problems: string[] = []
  const given = new Map<string, string[]>()
  for (let at = 0; at < args.length; ) {
    const found = readFlag(args.slice(at), formOf)
    if (found.kind === 'unknown') {
      const meant = nearest(found.given, Object.keys(FLAGS))
      problems.push(`flag provided but not defined: ${args[at]}${meant ? `; did you mean -${meant}?` : ''}`)
    } else if (found.kind === 'valueless') problems.push(`flag needs an argument: -${found.given}`)
    else {
      problems.push(...checkFlag(found))
      given.set(found.name, [...(given.get(found.name) ?? []), found.text])
    }
    at += found.kind === 'flag' ? found.width : 1
  }
  if (problems.length > 0) return { ok: false, problems }
  const flags = flagsOf(given)
  if (flags.devNodes > 1 && flags.dataDir)
    return { ok: false, problems: ['-dev-three-node keeps its data in memory: leave out -data-dir'] }
  return { ok: true, flags }
}

const flagsOf = (given: ReadonlyMap<string, readonly string[]>) => {
  const last = (name: string) => given.get(name)?.at(-1)
  const isOn = (name: string) => parseSwitch(last(name) ?? 'false') === true
  const isThreeNode = isOn('dev-three-node')
  const devNodes: 1 | 3 = isThreeNode ? 3 : 1
  const memory = isOn('dev-transactional') ? 'inmem_transactional' : 'inmem'
  return {
    configs: given.get('config') ?? [],
    dev: IMPLIES_DEV.some(isOn),
    devRootTokenId: last('dev-root-token-id'),
    devListenAddress: last('dev-listen-address'),
    devNodes,
    /** The storage type that the API reports for `-dev` without `-data-dir`. */
    devLabel: isThreeNode || isOn('dev-ha') ? 'inmem_ha' : memory,
    devKvV1: isOn('dev-kv-v1'),
    devNoKv: isOn('dev-no-kv'),
    devTls: isOn('dev-tls') || isThreeNode,
    devTlsCertDir: last('dev-tls-cert-dir'),
    devTlsSan: given.get('dev-tls-san') ?? [],
    dataDir: last('data-dir'),
    logLevel: last('log-level'),
    logFormat: last('log-format'),
    logFile: last('log-file'),
    warnings: Object.entries(FLAGS).flatMap(([name, { warning }]) =>
      warning && given.has(name) ? [{ origin: `-${name}`, text: warning }] : [],
    ),
  }
}

const formOf = (name: string): FlagForm | undefined => {
  const kind = Object.hasOwn(FLAGS, name) ? FLAGS[name] : undefined
  return kind && { name, isSwitch: kind.value === undefined }
}

const checkFlag = ({ name, text }: { readonly name: string; readonly text: string }): string[] => {
  const refusal = FLAGS[name]?.refusal
  const isWrong = formOf(name)?.isSwitch === true && parseSwitch(text) === undefined
  return [...(refusal ? [refusal] : []), ...(isWrong ? [`invalid boolean value "${text}" for -${name}`] : [])]
}

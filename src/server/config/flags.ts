/** Flags of `server`, one dash or two, `-flag=value` or `-flag value`. */
export interface ServerFlags {
  readonly configs: readonly string[]
  readonly dev: boolean
  readonly devRootTokenId: string | undefined
  readonly devListenAddress: string | undefined
  readonly devKvV1: boolean
  readonly devNoKv: boolean
  readonly devTls: boolean
  readonly devTlsCertDir: string | undefined
  readonly devTlsSan: readonly string[]
  readonly dataDir: string | undefined
  readonly logLevel: string | undefined
  readonly logFormat: string | undefined
  readonly logFile: string | undefined
}

/** Flag -> whether it takes a value. */
const FLAGS: Readonly<Record<string, 'value' | 'switch'>> = {
  config: 'value',
  dev: 'switch',
  'dev-root-token-id': 'value',
  'dev-listen-address': 'value',
  'dev-kv-v1': 'switch',
  'dev-no-kv': 'switch',
  'dev-no-store-token': 'switch',
  'dev-tls': 'switch',
  'dev-tls-cert-dir': 'value',
  'dev-tls-san': 'value',
  'data-dir': 'value',
  'log-level': 'value',
  'log-format': 'value',
  'log-file': 'value',
  'log-rotate-bytes': 'value',
  'log-rotate-duration': 'value',
  'log-rotate-max-files': 'value',
  'exit-on-core-shutdown': 'switch',
  recovery: 'switch',
}

const REFUSED: Readonly<Record<string, string>> = {
  recovery: 'recovery mode is not supported: stop the server and use "understudy storage verify"',
}

export type ParsedFlags =
  | { readonly ok: true; readonly flags: ServerFlags }
  | { readonly ok: false; readonly problems: readonly string[] }

/** Parses the arguments behind `server`; every mistake is listed. */
export const parseServerFlags = (args: readonly string[]): ParsedFlags => {
  const problems: string[] = []
  const given = new Map<string, string[]>()
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? ''
    const match = /^--?([a-z0-9-]+)(?:=([\s\S]*))?$/.exec(arg)
    const name = match?.[1] ?? ''
    const kind = FLAGS[name]
    if (!match || !kind) {
      problems.push(`flag provided but not defined: ${arg}`)
      continue
    }
    const refusal = REFUSED[name]
    if (refusal) problems.push(refusal)
    let value = match[2]
    if (value === undefined && kind === 'value') {
      index++
      value = args[index]
      if (value === undefined) problems.push(`flag needs an argument: -${name}`)
    }
    if (kind === 'switch' && value !== undefined && !['true', 'false', '1', '0'].includes(value)) {
      problems.push(`invalid boolean value "${value}" for -${name}`)
    }
    given.set(name, [...(given.get(name) ?? []), value ?? 'true'])
  }
  if (problems.length > 0) return { ok: false, problems }
  const last = (name: string) => given.get(name)?.at(-1)
  const isOn = (name: string) => ['true', '1'].includes(last(name) ?? 'false')
  return {
    ok: true,
    flags: {
      configs: given.get('config') ?? [],
      dev: isOn('dev') || isOn('dev-tls'),
      devRootTokenId: last('dev-root-token-id'),
      devListenAddress: last('dev-listen-address'),
      devKvV1: isOn('dev-kv-v1'),
      devNoKv: isOn('dev-no-kv'),
      devTls: isOn('dev-tls'),
      devTlsCertDir: last('dev-tls-cert-dir'),
      devTlsSan: given.get('dev-tls-san') ?? [],
      dataDir: last('data-dir'),
      logLevel: last('log-level'),
      logFormat: last('log-format'),
      logFile: last('log-file'),
    },
  }
}

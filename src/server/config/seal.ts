import { readNamedFile } from '../../base/named-file.js'
import { isUrl } from './addresses.js'
import { coerceText, type Environment, textOf } from './values.js'
import { type ConfigSources, DEFAULT_ORIGIN, fromVariable, type ResolvedSettings } from './resolved-settings.js'

/** The transit key of another cluster that encrypts the root key. Texts that are not given are empty. */
export type TransitSealConfig = Readonly<ReturnType<typeof resolveTransit>>

export type SealConfig =
  | { readonly type: 'shamir' }
  | TransitSealConfig
  | {
      readonly type: 'auto'
      /** The type that `seal-status` reports: `static`, or the name of a simulated seal. */
      readonly name: string
      readonly keyId: string
      /** The key of 32 bytes; undefined for a simulated seal, whose key is stored with the data. */
      readonly key: Buffer | undefined
      readonly previous: { readonly keyId: string; readonly key: Buffer } | undefined
    }

const KEY_BYTES = 32

/** Resolves the seal of this cluster. Without a `seal` stanza, the cluster uses key shares. */
export const resolveSeal = (sources: ConfigSources, own: { readonly simulateSeals: boolean }): SealConfig => {
  const { files, env, settled } = sources
  const stanza = files.seal
  settled.note('seal', stanza?.label ?? 'shamir', stanza?.origin ?? DEFAULT_ORIGIN)
  if (!stanza || stanza.label === 'shamir') return { type: 'shamir' }
  const settings = settled.within('seal', stanza)
  const isSupported = stanza.label === 'static' || (stanza.label === 'transit' && !own.simulateSeals)
  if (!isSupported && own.simulateSeals)
    return { type: 'auto', name: stanza.label, keyId: 'simulated', key: undefined, previous: undefined }
  if (!isSupported) {
    const text = `seal "${stanza.label}" is not supported: use shamir, static or transit. ${STAND_IN}`
    settings.refuse('', text)
    return { type: 'shamir' }
  }
  if (stanza.values.disabled?.value === true) return { type: 'shamir' }
  return stanza.label === 'transit' ? resolveTransit(settings, sources) : resolveStatic(settings, env)
}

const resolveStatic = (settings: ResolvedSettings, env: Environment): SealConfig => {
  const read = (name: string): Buffer | undefined => {
    const given = settings.secret(name)
    if (given === '') return undefined
    const key = readKey(given, env)
    if (key.ok) return key.bytes
    settings.refuse(name, `${name}: ${key.problem}`)
    return undefined
  }
  const key = read('current_key')
  if (textOf(settings.values.current_key) === '') settings.refuse('', 'seal "static" needs current_key')
  const previous = read('previous_key')
  return {
    type: 'auto',
    name: 'static',
    keyId: settings.text('current_key_id'),
    key,
    previous: previous ? { keyId: settings.text('previous_key_id'), key: previous } : undefined,
  }
}

/** Resolves a `seal "transit"` stanza. An environment variable applies to each absent key, as in Vault. */
const resolveTransit = (settings: ResolvedSettings, { env, findings }: ConfigSources) => {
  const { values } = settings
  const text = (key: string, variable: string) => settings.text(key, '', [values[key], fromVariable(env, variable)])
  const flag = (key: string, variable: string): boolean => {
    const given = fromVariable(env, variable)
    const read = given && coerceText('bool', String(given.value))
    if (given && !read?.ok) findings.problems.push({ origin: variable, text: `${variable} must be true or false` })
    return settings.flag(key, false, [values[key], given && read?.ok ? { ...given, value: read.value } : undefined])
  }
  const needed = {
    address: text('address', 'VAULT_ADDR'),
    token: settings.secret('token', [values.token, fromVariable(env, 'VAULT_TOKEN')]),
    key_name: text('key_name', 'VAULT_TRANSIT_SEAL_KEY_NAME'),
    mount_path: text('mount_path', 'VAULT_TRANSIT_SEAL_MOUNT_PATH'),
  }
  const missing = Object.entries(needed).flatMap(([name, value]) => (value === '' ? [name] : []))
  if (missing.length > 0) settings.refuse('', `seal "transit" needs ${missing.join(', ')}. ${STAND_IN}`)
  if (needed.address !== '' && !(/^https?:\/\//i.test(needed.address) && isUrl(needed.address)))
    settings.refuse('address', 'address must be a URL such as https://host:8200')
  return {
    type: 'transit' as const,
    name: 'transit' as const,
    address: needed.address.replace(/\/+$/, ''),
    token: needed.token,
    keyName: needed.key_name,
    mountPath: needed.mount_path,
    namespace: text('namespace', 'VAULT_NAMESPACE'),
    disableRenewal: flag('disable_renewal', 'VAULT_TRANSIT_SEAL_DISABLE_RENEWAL'),
    tls: {
      caFile: text('tls_ca_cert', 'VAULT_CACERT'),
      certFile: text('tls_client_cert', 'VAULT_CLIENT_CERT'),
      keyFile: text('tls_client_key', 'VAULT_CLIENT_KEY'),
      serverName: text('tls_server_name', 'VAULT_TLS_SERVER_NAME'),
      skipVerify: flag('tls_skip_verify', 'VAULT_SKIP_VERIFY'),
    },
  }
}

const STAND_IN =
  'To simulate the seal with a key file next to the data, set UNDERSTUDY_SIMULATE_SEALS=true in the environment, or simulate_seals = true in the stanza understudy'

type KeyRead = { readonly ok: true; readonly bytes: Buffer } | { readonly ok: false; readonly problem: string }

/**
 * Reads a key of 32 bytes. `value` is hex or base64 text, `file://path` (raw bytes or text), or `env://NAME`. The text
 * of a problem never contains the key.
 */
const readKey = (value: string, env: Environment): KeyRead => {
  if (value.startsWith('env://')) {
    const name = value.slice('env://'.length)
    const text = env[name]
    return text === undefined ? { ok: false, problem: `the variable ${name} is not set` } : decodeKey(Buffer.from(text))
  }
  if (!value.startsWith('file://')) return decodeKey(Buffer.from(value))
  const file = value.slice('file://'.length)
  try {
    return decodeKey(readNamedFile(file))
  } catch (error) {
    return { ok: false, problem: `${file} cannot be read: ${error instanceof Error ? error.message : error}` }
  }
}

const decodeKey = (raw: Buffer): KeyRead => {
  if (raw.length === KEY_BYTES) return { ok: true, bytes: raw }
  const text = raw.toString('utf8').trim()
  if (/^[0-9a-fA-F]{64}$/.test(text)) return { ok: true, bytes: Buffer.from(text, 'hex') }
  const decoded = /^[A-Za-z0-9+/_-]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0)
  return decoded.length === KEY_BYTES
    ? { ok: true, bytes: decoded }
    : { ok: false, problem: 'the key must be 32 bytes, as hex or base64' }
}

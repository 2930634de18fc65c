import { expandTemplate, isTemplate } from '../../base/address-template.js'
import type { ServerFlags } from './flags.js'
import type { NetworkAddress } from '../../base/network-addresses.js'
import type { FileSettings, Findings } from './file.js'
import { type Environment, type Sourced, textOf } from './values.js'

/**
 * Expands the templates of an address setting. Returns undefined, and reports a problem, if the result is not a single
 * address.
 */
export type ExpandAddress = (name: string, setting: Sourced | undefined) => Sourced | undefined

/** `addresses` is called only if a template needs it. */
export const addressExpander =
  (addresses: () => readonly NetworkAddress[], { problems }: Findings): ExpandAddress =>
  (name, setting) => {
    const text = textOf(setting)
    if (!setting || !isTemplate(text)) return setting
    const refuse = (reason: string) => void problems.push({ origin: setting.origin, text: `${name}: ${reason}` })
    try {
      const value = expandTemplate(text, addresses())
      if (!/\s/.test(value.trim())) return { value: value.trim(), origin: setting.origin }
      refuse(`"${text}" gives more than one address: ${value}; add limit 1, or name one of them`)
    } catch (error) {
      refuse(error instanceof Error ? error.message : String(error))
    }
    return undefined
  }

const VARIABLES = [
  'VAULT_API_ADDR',
  'VAULT_REDIRECT_ADDR',
  'VAULT_CLUSTER_ADDR',
  'VAULT_DEV_LISTEN_ADDRESS',
  'UNDERSTUDY_ETCD_PEER_ADDRESS',
]

/** Expands the templates of all addresses read so far: settings from files in place, flags and variables as copies. */
export const expandAddresses = (
  { flags, env, files }: { flags: ServerFlags; env: Environment; files: FileSettings },
  expand: ExpandAddress,
): { readonly flags: ServerFlags; readonly env: Environment } => {
  const inPlace = (values: Record<string, Sourced>, ...names: readonly string[]) => {
    for (const name of names) {
      const expanded = expand(name, values[name])
      if (expanded) values[name] = expanded
      else delete values[name]
    }
  }
  inPlace(files.root, 'api_addr', 'cluster_addr')
  inPlace(files.own, 'etcd_peer_address')
  for (const stanza of [files.seal, files.storage]) if (stanza) inPlace(stanza.values, 'address')
  for (const { values } of files.listeners) inPlace(values, 'address', 'cluster_address')
  const text = (name: string, value: string | undefined): string | undefined =>
    value && textOf(expand(name, { value, origin: name }))
  return {
    flags: { ...flags, devListenAddress: text('-dev-listen-address', flags.devListenAddress) },
    env: { ...env, ...Object.fromEntries(VARIABLES.map((name) => [name, text(name, env[name])])) },
  }
}

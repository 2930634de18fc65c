import { LIMITS } from '../../base/limits.js'
import { nearest } from '../../base/nearest.js'
import type { OwnRow, OwnSettings, OwnValues } from './config.js'
import { checkAddress, isHostPort } from './addresses.js'
import { OWN_KEYS } from './tables.js'
import type { Findings } from './file.js'
import { coerceText, type Environment, type Sourced } from './values.js'
import type { ConfigSources, ResolvedSettings } from './resolved-settings.js'

const LICENSES = ['enterprise', 'plus', 'none'] as const

/** Resolves Understudy's own settings. An environment variable `UNDERSTUDY_<KEY>` overrides a key of the stanza. */
export const resolveOwnSettings = ({ files, env, settled, findings }: ConfigSources, isDev: boolean): OwnSettings => {
  const values = { ...files.own, ...readEnvironment(env, findings) }
  const own = settled.within('understudy', { values, origin: 'understudy' })
  const { dialRoutes, license: given, ...settings } = resolveRows(own, isDev)
  const license = LICENSES.find((one) => one === given)
  if (!license) own.refuse('license', `license must be enterprise, plus or none, not "${given}"`)
  if (settings.walRetentionEntries < LIMITS.walRetentionEntriesMin) {
    own.refuse('wal_retention_entries', `wal_retention_entries must be at least ${LIMITS.walRetentionEntriesMin}`)
  }
  if (settings.leaderLeaseMs < LIMITS.leaderLeaseMsMin) {
    own.refuse('leader_lease', `leader_lease must be at least ${LIMITS.leaderLeaseMsMin}ms`)
  }
  if (settings.etcdPeerAddress !== '') checkAddress(own, 'etcd_peer_address', settings.etcdPeerAddress)
  if (!/^\d+\.\d+\.\d+(?:[-+].*)?$/.test(settings.reportedVersion)) {
    own.refuse('reported_version', `"${settings.reportedVersion}" is not a version such as 1.20.4+ent`)
  }
  return { ...settings, license: license ?? 'enterprise', dialRoutes: parseRoutes(dialRoutes, own) }
}

const resolveRows = (own: ResolvedSettings, isDev: boolean): OwnValues => {
  const rows = Object.entries(OWN_KEYS).flatMap(([key, row]) => {
    if (!('fallback' in row)) return []
    const { kind, fallback } = row
    const field = key.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
    if (key === ('lab_api_token' satisfies OwnRow)) return [[field, own.secret(key)]]
    const value = own.resolve(kind, key, key === ('lab_api' satisfies OwnRow) ? isDev : fallback)
    return [[kind === 'duration' ? `${field}Ms` : field, value]]
  })
  return Object.fromEntries(rows) as OwnValues
}

/** Parses routes of the form `host:port=host:port`. Reports a problem for other texts. */
const parseRoutes = (texts: readonly string[], own: ResolvedSettings): ReadonlyMap<string, string> => {
  const routes = new Map<string, string>()
  for (const text of texts) {
    const [, from, to] = /^([^=\s]+:\d+)=([^=\s]+:\d+)$/.exec(text) ?? []
    if (from && to && isHostPort(from) && isHostPort(to)) routes.set(from, to)
    else own.refuse('dial_routes', `dial_routes: "${text}" is not a route such as 10.0.0.1:8201=127.0.0.1:9000`)
  }
  return routes
}

const variableOf = (key: string): string => `UNDERSTUDY_${key.toUpperCase()}`

const readEnvironment = (env: Environment, findings: Findings): Record<string, Sourced> => {
  const out: Record<string, Sourced> = {}
  for (const [name, { kind }] of Object.entries(OWN_KEYS)) {
    const variable = variableOf(name)
    const text = env[variable]
    if (text === undefined || text === '') continue
    const read = coerceText(kind, text)
    if (read.ok) out[name] = { value: read.value, origin: variable }
    else findings.problems.push({ origin: variable, text: `${variable} must be ${read.expected}` })
  }
  warnOfUnknown(env, findings)
  return out
}

/** Environment variables of labs, drills and container images. A server may inherit them, but does not use them. */
const OTHER_VARIABLES = [
  ...['LAB', 'RANDOM_PORTS', 'IMAGE', 'BASE'],
  ...['OPERATOR', 'APPROVER', 'CHANGE', 'ENVIRONMENT'],
].map((name) => `UNDERSTUDY_${name}`)

/** Warns about unknown `UNDERSTUDY_` variables, because a misspelled variable has no effect. */
const warnOfUnknown = (env: Environment, findings: Findings): void => {
  const known = Object.keys(OWN_KEYS).map(variableOf)
  for (const variable of Object.keys(env)) {
    if (!variable.startsWith('UNDERSTUDY_') || [...known, ...OTHER_VARIABLES].includes(variable)) continue
    const meant = nearest(variable, known)
    const hint = meant === undefined ? '' : `; did you mean ${meant}?`
    findings.warnings.push({ origin: 'environment', text: `unknown variable ${variable}: it has no effect${hint}` })
  }
}

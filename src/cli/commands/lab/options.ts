import { messageOf } from '../../../base/printable.js'
import { accessSync, constants } from 'node:fs'
import path from 'node:path'
import { parseDurationMs } from '../../../base/duration.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { fixedPorts, lastPortOffset, type PortPair, randomPorts } from '../../../lab/model/ports.js'
import { allServersOf, planOf, type Topology } from '../../../lab/model/topology.js'

/** Parses a positive duration such as `30s`. Returns milliseconds. Throws LabError `usage` for any other text. */
export const parseTimeout = (text: string): number => {
  const ms = parseDurationMs(text)
  if (ms === undefined || ms <= 0) throw new LabError('usage', `"${text}" is not a positive duration such as 30s`)
  return ms
}

/** Default timeout of a request to a server about its state. */
export const RESPONSE_TIMEOUT = '5s'

/** The flag for the CA certificate that verifies servers. */
export const CA_CERT = [
  '--ca-cert <file>',
  'CA certificate (PEM) that verifies the servers (default: those of the system)',
] as const

/** Returns the absolute path of a file. Throws LabError `usage` if the file cannot be read. */
export const requireReadable = (file: string): string => {
  try {
    accessSync(file, constants.R_OK)
    return path.resolve(file)
  } catch (error) {
    throw new LabError('usage', `${file} cannot be read: ${messageOf(error)}`)
  }
}

const PORT_MAX = 65_535

/**
 * Parses a port. Also checks that the port plus `highestOffset`, the highest port of the lab, is valid. Throws LabError
 * `usage` if one of them is invalid.
 */
export const parsePort = (text: string, highestOffset = 0): number => {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port < 1 || port > PORT_MAX) throw new LabError('usage', `"${text}" is not a port from 1 to ${PORT_MAX}`)
  if (port + highestOffset > PORT_MAX) {
    throw new LabError(
      'usage',
      `--port-base ${port} is too high: the last cluster would need port ${port + highestOffset}`,
    )
  }
  return port
}

interface PortFlags {
  readonly ports?: 'fixed' | 'random' | undefined
  readonly portBase?: string | undefined
}

/**
 * Throws LabError `usage` at once for an invalid port. Returns a function that selects free ports later. `--port-base`
 * takes precedence over the ports of the topology. Random ports are outside `reserved`.
 */
export const portChoice = (
  topology: Topology,
  { ports, portBase }: PortFlags,
  reserved?: ReadonlySet<number>,
): (() => Promise<Map<string, PortPair>>) => {
  const servers = allServersOf(topology)
  if (ports === 'random') return () => randomPorts(servers, reserved)
  const base = parsePort(portBase ?? '8200', lastPortOffset(servers))
  return () => fixedPorts(servers, base, (name) => (portBase ? undefined : planOf(topology, name).ports))
}

const SHARES_MAX = 255

export const parseShamir = (text: string): { shares: number; threshold: number } => {
  const [, shares, threshold] = (/^(\d{1,3})\/(\d{1,3})$/.exec(text) ?? []).map(Number)
  if (shares === undefined || threshold === undefined) {
    throw new LabError('usage', `"${text}" is not of the form shares/threshold, such as 5/3`)
  }
  if (shares < 1 || shares > SHARES_MAX)
    throw new LabError('usage', `the number of shares must be from 1 to ${SHARES_MAX}, not ${shares}`)
  if (threshold < 1 || threshold > shares) {
    throw new LabError('usage', `the threshold must be from 1 to ${shares}, the number of shares, not ${threshold}`)
  }
  if (threshold === 1 && shares > 1)
    throw new LabError('usage', 'more than one share requires a threshold of at least 2')
  return { shares, threshold }
}

import { realpathSync } from 'node:fs'
import { formatHostPort, parseHostPort } from '../../base/network.js'
import { readTar } from '../../base/tar.js'
import { LabError } from '../model/lab-error.js'
import type { LabDaemonAccess } from '../model/daemon-record.js'
import { CONTROL_PORT, LINKS, SERVER_PORTS, TOXIPROXY_PORT } from './container-daemon.js'
import { composeLine, docker, dockerBytes } from './docker.js'
import { type KnownKeys, parseKeys } from '../keys/keys-file.js'

/** Container label: the cluster of the server. */
export const CLUSTER_LABEL = 'understudy.cluster'

/** File in which the wiring service stores unseal keys and tokens. */
export const KEYS_IN_CONTAINER = '/vault/data/wired.json'

/** Container label: the name of the node, if the cluster has several nodes. */
export const NODE_LABEL = 'understudy.node'

/** Container label: the server uses TLS. */
export const TLS_LABEL = 'understudy.tls'

/** Directory of the certificates and auto-unseal keys in the servers of an export. */
export const SECRETS_IN_CONTAINER = '/vault/secrets'

/** The CA file for verifying the certificates of an export. */
export const CA_IN_CONTAINER = `${SECRETS_IN_CONTAINER}/ca.pem`

/** The containers of a compose project, by server name (`A` or `A1`). */
interface ComposeProject {
  readonly containers: ReadonlyMap<string, string>
  /** The addresses of published ports. */
  readonly addresses: ReadonlyMap<string, string>
  readonly keys: KnownKeys | undefined
  /** The lab daemon, if the links between the servers go through one. */
  readonly keeper: LabDaemonAccess | undefined
  /** The CA certificate for servers with TLS, PEM. */
  readonly caPem: string | undefined
}

interface Container {
  readonly Name: string
  readonly Config: { readonly Labels: Readonly<Record<string, string>> | null }
  readonly NetworkSettings: { readonly Ports: Readonly<Record<string, readonly Published[] | null>> | null }
  readonly HostConfig: { readonly PortBindings: Readonly<Record<string, readonly Published[] | null>> | null }
}

interface Published {
  readonly HostIp: string
  readonly HostPort: string
}

const COMPOSE = 'com.docker.compose'

/**
 * Finds the containers of the compose file in a directory, including stopped containers. The cluster name is the label
 * of the container, or else the name of its service. Rejects with LabError `usage` if there are none, and if several
 * have the same name.
 */
export const findComposeProject = async (directory: string, project?: string): Promise<ComposeProject> => {
  const containers = chooseProject(await inspectAll(resolveDirectory(directory)), directory, project)
  const servers = containers.flatMap((one) => {
    const name = serverOf(one)
    return name === undefined ? [] : [[name, one] as const]
  })
  const duplicate = servers.find(([name], index) => servers.findIndex(([first]) => first === name) < index)
  if (duplicate)
    throw new LabError(
      'usage',
      `several containers of ${directory} are named ${duplicate[0]}: give each node of a cluster a label ${NODE_LABEL}, such as ${duplicate[0]}1`,
    )
  if (servers.length === 0)
    throw new LabError('usage', `no container of ${directory} is a cluster: name the services a, b and so on`)
  const wire = containers.find((one) => labelsOf(one)[`${COMPOSE}.service`] === 'wire')
  const daemon = containers.find((one) => labelsOf(one)[`${COMPOSE}.service`] === LINKS)
  const withTls = containers.find(hasTls)
  return {
    containers: new Map(servers.map(([name, one]) => [name, nameOf(one)])),
    addresses: new Map(servers.flatMap(([name, one]) => addressesOf(one).map((address) => [name, address]))),
    keys: wire ? await copyKeys(nameOf(wire)) : undefined,
    keeper: daemon && daemonOf(daemon),
    caPem: withTls ? await copyText(nameOf(withTls), CA_IN_CONTAINER) : undefined,
  }
}

const resolveDirectory = (directory: string): string => {
  try {
    return realpathSync(directory)
  } catch {
    throw new LabError('usage', `there is no directory ${directory}: specify the directory of the compose file`)
  }
}

const inspectAll = async (directory: string): Promise<Container[]> => {
  const filter = `label=${COMPOSE}.project.working_dir=${directory}`
  const ids = (await docker('ps', '--all', '--quiet', '--filter', filter)).split('\n').filter((id) => id !== '')
  if (ids.length === 0)
    throw new LabError('usage', `there are no containers of ${directory}: run "${await composeLine('up')}" in it`)
  return JSON.parse(await docker('inspect', '--type', 'container', ...ids)) as Container[]
}

const chooseProject = (
  containers: readonly Container[],
  directory: string,
  project: string | undefined,
): Container[] => {
  const projectOf = (one: Container) => labelsOf(one)[`${COMPOSE}.project`] ?? ''
  const names = [...new Set(containers.map(projectOf))].sort()
  if (project === undefined && names.length > 1)
    throw new LabError(
      'usage',
      `${directory} was started as the projects ${names.join(' and ')}: specify the project with --project`,
    )
  const chosen = containers.filter((one) => project === undefined || projectOf(one) === project)
  if (chosen.length === 0)
    throw new LabError(
      'usage',
      `${directory} was not started as the project "${project}", but as ${names.join(' and ')}`,
    )
  return chosen
}

const labelsOf = (one: Container) => one.Config.Labels ?? {}
const nameOf = (one: Container) => one.Name.replace(/^\//, '')
const hasTls = (one: Container) => labelsOf(one)[TLS_LABEL] === 'true'

const serverOf = (one: Container): string | undefined => {
  const { [NODE_LABEL]: node, [CLUSTER_LABEL]: cluster, [`${COMPOSE}.service`]: service } = labelsOf(one)
  const name = node ?? cluster ?? service?.toUpperCase()
  return name !== undefined && (node === undefined ? /^[A-Z]$/ : /^[A-Z]\d$/).test(name) ? name : undefined
}

/**
 * Returns the address (`host:port`) at which a port of a container is published. For a stopped container, reads the
 * configured address. Undefined if the port is not published, or if Docker chooses the address at each start.
 */
const publishedAt = ({ NetworkSettings, HostConfig }: Container, port: number): string | undefined => {
  const all = [NetworkSettings.Ports, HostConfig.PortBindings].flatMap((ports) => ports?.[`${port}/tcp`] ?? [])
  const found = all.find(({ HostPort }) => HostPort !== '')
  if (!found) return undefined
  return formatHostPort(
    ['', '0.0.0.0', '::'].includes(found.HostIp) ? '127.0.0.1' : found.HostIp,
    Number(found.HostPort),
  )
}

const addressesOf = (one: Container): string[] => {
  const found = publishedAt(one, SERVER_PORTS.api)
  return found === undefined ? [] : [`${hasTls(one) ? 'https' : 'http'}://${found}`]
}

const daemonOf = (one: Container): LabDaemonAccess | undefined => {
  const control = publishedAt(one, CONTROL_PORT)
  if (control === undefined) return undefined
  const toxiproxy = publishedAt(one, TOXIPROXY_PORT)
  return {
    socket: `http://${control}`,
    toxiproxyPort: toxiproxy === undefined ? null : parseHostPort(toxiproxy).port,
  }
}

/** Reads the keys file of the wiring service. Undefined if the service has not written the file yet. */
const copyKeys = async (container: string): Promise<KnownKeys | undefined> => {
  const text = await copyText(container, KEYS_IN_CONTAINER)
  return text === undefined ? undefined : parseKeys(text, `${KEYS_IN_CONTAINER} in the container ${container}`)
}

/** Maximum size of a file that is read from a container, in bytes. Keys and certificates are much smaller. */
const FILE_BYTES_MAX = 1 << 20

/**
 * Reads a file of a running or stopped container. Undefined if there is no regular file of this name. Does not follow
 * symbolic links in the container, and writes no file on this machine.
 */
const copyText = async (container: string, file: string): Promise<string | undefined> => {
  try {
    const archive = await dockerBytes(2 * FILE_BYTES_MAX, 'cp', `${container}:${file}`, '-')
    for await (const { content, isPlain } of readTar(inOnePiece(archive), FILE_BYTES_MAX)) {
      if (isPlain) return content.toString('utf8')
    }
  } catch {
    // The file does not exist, or is too large for a file of an export.
  }
  return undefined
}

async function* inOnePiece(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}

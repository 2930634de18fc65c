import { realpathSync } from 'node:fs'
import { readTar } from '../../base/tar.js'
import { LabError } from '../model/lab-error.js'
import { docker, dockerBytes } from './docker.js'
import { type KnownKeys, parseKeys } from '../keys/keys-file.js'

/** The label of a container by which it is known which cluster its server is of. */
export const CLUSTER_LABEL = 'understudy.cluster'

/** Where the service that wires the clusters keeps what opens them. */
export const KEYS_IN_CONTAINER = '/vault/data/wired.json'

/** The label of a container whose server is one of several nodes, with its name. */
export const NODE_LABEL = 'understudy.node'

/** The label of a container whose server speaks TLS. */
export const TLS_LABEL = 'understudy.tls'

/** Where servers of an export find certificates and the keys that they unseal themselves with. */
export const SECRETS_IN_CONTAINER = '/vault/secrets'

/** The CA file that the certificates of an export are verified with. */
export const CA_IN_CONTAINER = `${SECRETS_IN_CONTAINER}/ca.pem`

/** The running part of a compose project: servers by name, `A` or `A1`, with their containers and the addresses of their published ports. */
export interface ComposeProject {
  readonly servers: ReadonlyMap<string, { readonly container: string; readonly apiAddress: string | undefined }>
  readonly keys: KnownKeys | undefined
  /** The CA that servers with TLS are verified with, PEM. */
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
const API_PORT = '8200/tcp'

/**
 * Finds the containers that compose made from the file in a directory, stopped ones as well. A cluster is called as its
 * label says, or by the name of its service.
 */
export const findComposeProject = async (directory: string, project?: string): Promise<ComposeProject> => {
  const containers = chooseProject(await inspectAll(resolveDirectory(directory)), directory, project)
  const servers = containers.flatMap((one) => {
    const name = serverOf(one)
    return name === undefined ? [] : [[name, { container: nameOf(one), apiAddress: addressOf(one) }] as const]
  })
  const doubled = servers.find(([name], index) => servers.findIndex(([other]) => other === name) < index)
  if (doubled)
    throw new LabError(
      'usage',
      `several containers of ${directory} are ${doubled[0]}: nodes of one cluster have a label ${NODE_LABEL} each, such as ${doubled[0]}1`,
    )
  if (servers.length === 0)
    throw new LabError(
      'usage',
      `none of the containers of ${directory} is a cluster: their services are called a, b, ...`,
    )
  const wire = containers.find((one) => labelsOf(one)[`${COMPOSE}.service`] === 'wire')
  const withTls = containers.find(hasTls)
  return {
    servers: new Map(servers),
    keys: wire ? await copyKeys(nameOf(wire)) : undefined,
    caPem: withTls ? await copyText(nameOf(withTls), CA_IN_CONTAINER) : undefined,
  }
}

const resolveDirectory = (directory: string): string => {
  try {
    return realpathSync(directory)
  } catch {
    throw new LabError('usage', `there is no directory ${directory}`)
  }
}

const inspectAll = async (directory: string): Promise<Container[]> => {
  const filter = `label=${COMPOSE}.project.working_dir=${directory}`
  const ids = (await docker('ps', '--all', '--quiet', '--filter', filter)).split('\n').filter((id) => id !== '')
  if (ids.length === 0)
    throw new LabError('usage', `no container of ${directory} is there: "docker compose up" in it starts them`)
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
    throw new LabError('usage', `${directory} was started as ${names.join(' and ')}: say which with --project`)
  const chosen = containers.filter((one) => project === undefined || projectOf(one) === project)
  if (chosen.length === 0)
    throw new LabError('usage', `${directory} was not started as "${project}", but as ${names.join(' and ')}`)
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

/** The published port. For a container that does not run it is known from its making, unless Docker was to choose it. */
const addressOf = (one: Container): string | undefined => {
  const { NetworkSettings, HostConfig } = one
  const all = [...(NetworkSettings.Ports?.[API_PORT] ?? []), ...(HostConfig.PortBindings?.[API_PORT] ?? [])]
  const found = all.find(({ HostPort }) => HostPort !== '')
  if (!found) return undefined
  const host = ['', '0.0.0.0', '::'].includes(found.HostIp) ? '127.0.0.1' : found.HostIp
  return `${hasTls(one) ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${found.HostPort}`
}

/** Undefined before the keys are there. */
const copyKeys = async (container: string): Promise<KnownKeys | undefined> => {
  const text = await copyText(container, KEYS_IN_CONTAINER)
  return text === undefined ? undefined : parseKeys(text, `${KEYS_IN_CONTAINER} in the container ${container}`)
}

/** Keys and certificates are far smaller. */
const FILE_BYTES_MAX = 1 << 20

/**
 * A file of a container, also of one that has ended. Undefined where it is not there, or is no file of it: what a link in a container
 * names is not looked for on this machine, so nothing of it gets onto the disk.
 */
const copyText = async (container: string, file: string): Promise<string | undefined> => {
  try {
    const archive = await dockerBytes(2 * FILE_BYTES_MAX, 'cp', `${container}:${file}`, '-')
    for await (const { content, isPlain } of readTar(inOnePiece(archive), FILE_BYTES_MAX)) {
      if (isPlain) return content.toString('utf8')
    }
  } catch {
    // It is not there, or too large to be one of ours.
  }
  return undefined
}

async function* inOnePiece(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}

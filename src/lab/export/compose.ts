import { CLUSTER_LABEL, KEYS_IN_CONTAINER } from '../attach/compose-project.js'
import { loadYaml } from '../documents/yaml-document.js'
import { LabError } from '../lab-error.js'
import {
  CLUSTER_PORT,
  configText,
  API_PORT,
  type ExportedFile,
  type ExportSource,
  hostPort,
  TOPOLOGY_IN_CONTAINER,
  topologyArgument,
} from './plan.js'

interface ComposeOptions {
  readonly image: string
  /** The machine of each cluster, by an address that the others reach; none when all are on one. */
  readonly hosts?: ReadonlyMap<string, string> | undefined
}

/** Where a cluster is for the others, and on which port of the machine. */
interface Place {
  readonly name: string
  readonly service: string
  readonly port: number
  /** Undefined when all are containers of one network. */
  readonly host: string | undefined
}

type Service = Readonly<Record<string, unknown>>

const FILE = 'docker-compose.yml'
/** Machines are started one after the other, by people. */
const HOSTS_TIMEOUT = '30m'

/**
 * A topology as files for compose: one service a cluster, and `wire`, which initialises, unseals and joins them once they
 * answer, and keeps the keys in a volume. It ends with status 0 and runs again with every `up`, which unseals what was
 * stopped. With machines named, there is a directory for each, and the first cluster's wires them all.
 */
export const exportCompose = (source: ExportSource, options: ComposeOptions): ExportedFile[] => {
  const { topology } = source
  if (options.hosts) refuseHosts(source, options.hosts)
  const places = topology.clusters.map((name) => ({
    name,
    service: name.toLowerCase(),
    port: hostPort(topology, name),
    host: options.hosts?.get(name),
  }))
  const machines = [...new Set(places.map(({ host }) => host))]
  return machines.flatMap((host, index) => {
    const own = places.filter((place) => place.host === host)
    const prefix = host === undefined ? '' : `${host}/`
    const withWire = index === 0
    const text = render(source, own, withWire ? places : [], options)
    return [
      { path: `${prefix}${FILE}`, text },
      ...(withWire && source.fileText !== undefined ? [{ path: `${prefix}topology.yaml`, text: source.fileText }] : []),
    ]
  })
}

/** Names of machines become names of directories, and addresses in the configuration of servers. */
const HOST = /^[A-Za-z0-9][\w.-]*$/

const refuseHosts = ({ topology }: ExportSource, hosts: ReadonlyMap<string, string>): void => {
  const strange = [...hosts.keys()].filter((name) => !topology.clusters.includes(name))
  if (strange.length > 0)
    throw new LabError('usage', `the topology ${topology.name} has no cluster ${strange.join(', ')}`)
  const missing = topology.clusters.filter((name) => !hosts.has(name))
  if (missing.length > 0) throw new LabError('usage', `--hosts does not say where ${missing.join(', ')} is to run`)
  for (const host of hosts.values()) {
    if (!HOST.test(host)) throw new LabError('usage', `"${host}" is not the name or IPv4 address of a machine`)
    if (host === 'localhost' || host.startsWith('127.'))
      throw new LabError(
        'usage',
        `${host} is another machine to each container: give an address that all of them reach`,
      )
  }
}

/** `all`: what is wired from here; none when that is done on another machine. */
const render = (
  source: ExportSource,
  own: readonly Place[],
  all: readonly Place[],
  options: ComposeOptions,
): string => {
  const image = `\${UNDERSTUDY_IMAGE:-${options.image}}`
  const document = {
    services: {
      ...Object.fromEntries(own.map((place) => [place.service, serverOf(place, source, image)])),
      ...(all.length > 0 ? wiringOf(source, own, all, image) : {}),
    },
    volumes: Object.fromEntries([
      ...own.map(({ service }) => [`${service}-data`, null]),
      ...(all.length > 0 ? [['keys', null]] : []),
    ]),
  }
  const yaml = loadYaml().stringify(document, { aliasDuplicateObjects: false, lineWidth: 0, nullStr: '' })
  return `${headOf(source, own, all)}\n${yaml}`
}

const serverOf = ({ name, service, port, host }: Place, { topology }: ExportSource, image: string): Service => {
  const [api, cluster] = host
    ? [`http://${host}:${port}`, `https://${host}:${port + 1}`]
    : [`http://${service}:${API_PORT}`, `https://${service}:${CLUSTER_PORT}`]
  const published = `\${${name}_PORT:-${port}}:${API_PORT}`
  return {
    image,
    command: ['server'],
    labels: { [CLUSTER_LABEL]: name },
    ports: host ? [`${port}:${API_PORT}`, `${port + 1}:${CLUSTER_PORT}`] : [`127.0.0.1:${published}`],
    environment: { VAULT_LOCAL_CONFIG: configText(topology, name, { api, cluster }).replaceAll('$', '$$$$') },
    volumes: [`${service}-data:/vault/file`],
    stop_grace_period: '20s',
  }
}

const wiringOf = (
  source: ExportSource,
  own: readonly Place[],
  all: readonly Place[],
  image: string,
): Record<string, Service> => {
  const addresses = all.map(({ name, service, port, host }) =>
    host ? `${name}=http://${host}:${port}` : `${name}=http://${service}:${API_PORT}`,
  )
  const healthy = Object.fromEntries(own.map(({ service }) => [service, { condition: 'service_healthy' }]))
  const base = {
    image,
    healthcheck: { disable: true },
    volumes: [
      'keys:/vault/data',
      ...(source.fileText === undefined ? [] : [`./topology.yaml:${TOPOLOGY_IN_CONTAINER}:ro`]),
    ],
    depends_on: healthy,
  }
  const timeout = own.length < all.length ? ['--timeout', HOSTS_TIMEOUT] : []
  const tool = (command: string) => ({
    ...base,
    profiles: ['tools'],
    command: [
      'sh',
      '-c',
      `understudy attach lab --keys ${KEYS_IN_CONTAINER} >/dev/null && understudy ${command} --name lab`,
    ],
  })
  return {
    wire: {
      ...base,
      command: ['wire', '--topology', topologyArgument(source), '--keep', KEYS_IN_CONTAINER, ...timeout, ...addresses],
    },
    status: tool('status'),
    probe: tool('probe'),
  }
}

const headOf = ({ topology }: ExportSource, own: readonly Place[], all: readonly Place[]): string => {
  const where = own.map(({ name, port, host }) => `${name} http://${host ?? '127.0.0.1'}:${port}`).join(', ')
  const wiring =
    all.length === 0
      ? ['The machine of the first cluster joins them to the others.']
      : [
          '`wire` initialises, unseals and joins the clusters, keeps their keys in the volume "keys", and ends with status 0.',
          'After a stop the next `docker compose up` unseals them again. What needs them ready depends on',
          '`wire` with the condition service_completed_successfully. `docker compose run --rm status` and',
          '`... probe` look at them; `docker compose down -v` ends them, with keys and data.',
        ]
  return [
    `The topology ${topology.name}: ${topology.about || 'clusters that replicate'}.`,
    '',
    '    docker compose up -d',
    '',
    `On the machine: ${where}.`,
    ...wiring,
  ]
    .map((line) => `# ${line}`.trimEnd())
    .join('\n')
}

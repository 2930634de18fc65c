import {
  CA_IN_CONTAINER,
  CLUSTER_LABEL,
  KEYS_IN_CONTAINER,
  NODE_LABEL,
  SECRETS_IN_CONTAINER,
  TLS_LABEL,
} from '../containers/compose-project.js'
import { daemonService, dialRoutesThroughDaemon, containerHostOf, LINKS } from '../containers/container-daemon.js'
import { loadYaml } from '../documents/yaml-document.js'
import {
  CLUSTER_PORT,
  configText,
  API_PORT,
  type ExportedFile,
  type ExportedServer,
  type ExportSource,
  hasTls,
  headlineOf,
  hostOf,
  PEER_STEP,
  requireHosts,
  schemeOf,
  serversOfExport,
  TOPOLOGY_IN_CONTAINER,
  topologyArgument,
} from './plan.js'
import { sealKeyFile } from './secrets.js'
import { planOf, type Topology } from '../model/topology.js'

/** The address of a server for the other servers, and its port on the machine. */
interface ComposeServer extends ExportedServer {
  readonly service: string
  /** The address of the machine. Undefined if all containers run on one machine. */
  readonly host: string | undefined
  /** The address of its API for the other containers. */
  readonly api: string
  readonly isTls: boolean
  readonly isAutoSealed: boolean
  /** Whether the server needs the volume of secrets: its own, or the CA of the API that unwraps its token. */
  readonly hasSecrets: boolean
}

/** The compose file of one machine. */
interface Machine extends ExportSource {
  readonly image: string
  readonly own: readonly ComposeServer[]
  /** All servers, including those on other machines. */
  readonly places: readonly ComposeServer[]
  /** Whether this machine initializes and joins the servers of all machines. */
  readonly isWiring: boolean
  readonly hasSecrets: boolean
  /** Whether the links between the servers go through a lab daemon. */
  readonly hasLinks: boolean
}

type Service = Readonly<Record<string, unknown>>

const SECRETS = 'secrets'

/** The mount of the volume of secrets, read-only. */
const READ_SECRETS = `${SECRETS}:${SECRETS_IN_CONTAINER}:ro`

/** Timeout of `wire` with several machines, because operators may start them one after the other. */
const HOSTS_TIMEOUT = '30m'

interface ComposeOptions {
  readonly image: string
  readonly hosts?: ReadonlyMap<string, string> | undefined
  readonly hasLinks?: boolean | undefined
}

/**
 * Exports a topology as compose files, with one service per server and the service `wire`. `wire` initializes, unseals
 * and joins the servers, stores the keys in a volume, and exits with status 0. It runs with every `up` to unseal
 * restarted servers. With several machines, each machine has a directory, and the machine of the first cluster wires
 * all servers. `hosts`: maps each cluster to the address at which other machines reach its machine. Absent for a single
 * machine. `hasLinks`: adds the service `links`, a lab daemon. The connections between the servers then go through its
 * proxies.
 */
export const exportCompose = (
  source: ExportSource,
  { image, hosts, hasLinks = true }: ComposeOptions,
): ExportedFile[] => {
  const { topology, fileText } = source
  if (hosts) requireHosts(source, hosts)
  const places = serversOfExport(topology).map((server) =>
    composeServerOf(topology, server, hosts && hostOf(hosts, server)),
  )
  return [...new Set(places.map(({ host }) => host))].flatMap((host, index) => {
    const own = places.filter((place) => place.host === host)
    const isWiring = index === 0
    const hasSecrets = own.some((place) => place.hasSecrets)
    const machine = { ...source, image: `\${UNDERSTUDY_IMAGE:-${image}}`, own, places, isWiring, hasSecrets }
    const text = render({ ...machine, hasLinks: hasLinks && hosts === undefined && places.length > 1 })
    const directory = host === undefined ? '' : `${host}/`
    return [
      { path: `${directory}docker-compose.yml`, text },
      ...(isWiring && fileText !== undefined ? [{ path: `${directory}topology.yaml`, text: fileText }] : []),
    ]
  })
}

const composeServerOf = (topology: Topology, server: ExportedServer, host: string | undefined): ComposeServer => {
  const { cluster, port } = server
  const service = containerHostOf(server.name)
  const api = `${schemeOf(topology, cluster)}://${host ? `${host}:${port}` : `${service}:${API_PORT}`}`
  const isTls = hasTls(topology, cluster)
  const isAutoSealed = planOf(topology, cluster).seal?.type === 'auto'
  const followsTls = topology.links.some((link) => link.secondary === cluster && hasTls(topology, link.primary))
  return { ...server, service, host, api, isTls, isAutoSealed, hasSecrets: isTls || isAutoSealed || followsTls }
}

const render = (machine: Machine): string => {
  const { topology, image, own, isWiring, hasSecrets, hasLinks } = machine
  const document = {
    services: {
      ...(hasSecrets ? { [SECRETS]: secretsOf(machine) } : {}),
      ...(hasLinks ? { [LINKS]: { image, ...daemonService(topology) } } : {}),
      ...Object.fromEntries(own.map((place) => [place.service, serverOf(place, machine)])),
      ...(isWiring ? wiringOf(machine) : {}),
    },
    volumes: Object.fromEntries([
      ...own.map(({ service }) => [`${service}-data`, null]),
      ...(hasSecrets ? [[SECRETS, null]] : []),
      ...(isWiring ? [['keys', null]] : []),
    ]),
  }
  const yaml = loadYaml().stringify(document, { aliasDuplicateObjects: false, lineWidth: 0, nullStr: '' })
  return `${headOf(machine)}\n${yaml}`
}

const serverOf = (place: ComposeServer, { topology, places, image, hasLinks }: Machine): Service => {
  const { name, cluster, service, port, host, api, isTls, isAutoSealed, hasSecrets } = place
  const nodes = places.filter((one) => one.cluster === cluster)
  const isNode = nodes.length > 1
  const peer = isNode && host ? port + PEER_STEP : undefined
  const config = configText(topology, cluster, {
    self: {
      nodeId: service,
      api,
      cluster: host ? `https://${host}:${port + 1}` : `https://${service}:${CLUSTER_PORT}`,
    },
    dialRoutes: hasLinks ? dialRoutesThroughDaemon(topology, name) : undefined,
    tlsDirectory: SECRETS_IN_CONTAINER,
    sealKey: isAutoSealed ? `file://${sealKeyFile(SECRETS_IN_CONTAINER, cluster)}` : undefined,
    peers: isNode
      ? {
          apis: nodes.map((node) => node.api),
          caFile: isTls ? CA_IN_CONTAINER : undefined,
          etcd: peer === undefined ? undefined : `${host}:${peer}`,
        }
      : undefined,
  })
  const needs = {
    ...(hasSecrets && { [SECRETS]: { condition: 'service_completed_successfully' } }),
    ...(hasLinks && { [LINKS]: { condition: 'service_healthy' } }),
  }
  return {
    image,
    command: ['server'],
    labels: {
      [CLUSTER_LABEL]: cluster,
      ...(isNode ? { [NODE_LABEL]: name } : {}),
      ...(isTls ? { [TLS_LABEL]: 'true' } : {}),
    },
    ports: host
      ? [`${port}:${API_PORT}`, `${port + 1}:${CLUSTER_PORT}`, ...(peer === undefined ? [] : [`${peer}:${peer}`])]
      : [`127.0.0.1:\${${name}_PORT:-${port}}:${API_PORT}`],
    environment: { VAULT_LOCAL_CONFIG: config.replaceAll('$', '$$$$') },
    volumes: [`${service}-data:/vault/file`, ...(hasSecrets ? [READ_SECRETS] : [])],
    ...(hasSecrets || hasLinks ? { depends_on: needs } : {}),
    stop_grace_period: '20s',
  }
}

/** Returns the service that creates missing secrets and exits. It runs with every `up`, before the servers start. */
const secretsOf = ({ own, image }: Machine): Service => {
  const tls = own.filter(({ isTls }) => isTls).map(({ service }) => service)
  const sealed = [...new Set(own.filter(({ isAutoSealed }) => isAutoSealed).map(({ cluster }) => cluster))]
  const flags = [
    ...(tls.length > 0 ? ['--tls', tls.join()] : []),
    ...(sealed.length > 0 ? ['--seal', sealed.join()] : []),
  ]
  return {
    image,
    command: ['compose', 'secrets', SECRETS_IN_CONTAINER, ...flags],
    healthcheck: { disable: true },
    volumes: [`${SECRETS}:${SECRETS_IN_CONTAINER}`],
  }
}

const wiringOf = (machine: Machine): Readonly<Record<string, Service>> => {
  const { own, places, image, fileText } = machine
  const addresses = places.map(({ name, api }) => `${name}=${api}`)
  const verify = places.some(({ isTls }) => isTls) ? ['--ca-cert', CA_IN_CONTAINER] : []
  const base = {
    image,
    healthcheck: { disable: true },
    volumes: [
      'keys:/vault/data',
      ...(verify.length > 0 ? [READ_SECRETS] : []),
      ...(fileText === undefined ? [] : [`./topology.yaml:${TOPOLOGY_IN_CONTAINER}:ro`]),
    ],
    depends_on: Object.fromEntries(own.map(({ service }) => [service, { condition: 'service_healthy' }])),
  }
  const keep = ['--topology', topologyArgument(machine), '--keep', KEYS_IN_CONTAINER]
  const timeout = own.length < places.length ? ['--timeout', HOSTS_TIMEOUT] : []
  const attach = ['understudy attach lab --keys', KEYS_IN_CONTAINER, ...verify].join(' ')
  const tool = (command: string) => ({
    ...base,
    profiles: ['tools'],
    command: ['sh', '-c', `${attach} >/dev/null && understudy ${command} --name lab`],
  })
  return {
    wire: { ...base, command: ['wire', ...keep, ...verify, ...timeout, ...addresses] },
    status: tool('status'),
    probe: tool('probe'),
  }
}

const headOf = ({ topology, own, isWiring, hasSecrets, hasLinks }: Machine): string => {
  const where = own
    .map(({ name, cluster, port, host }) => `${name} ${schemeOf(topology, cluster)}://${host ?? '127.0.0.1'}:${port}`)
    .join(', ')
  const secrets = '`secrets` creates certificates and auto-unseal keys in the volume "secrets", if they do not exist.'
  const links =
    '`links` is the lab daemon. The links between the clusters go through it, so `understudy fault` works on them.'
  const notes = [...(hasSecrets ? [secrets] : []), ...(hasLinks ? [links] : [])]
  const wiring = isWiring
    ? [
        '`wire` initializes, unseals and joins the clusters, stores their keys in the volume "keys", and exits with status 0.',
        'After a stop, the next `docker compose up` unseals the clusters again. A service that requires replicated clusters',
        'depends on `wire` with the condition service_completed_successfully.',
        'To check the clusters: `docker compose run --rm status` and `docker compose run --rm probe`.',
        'To remove the clusters with their keys and data: `docker compose down -v`.',
      ]
    : ['The machine of the first cluster joins these servers to the others.']
  return [headlineOf(topology), '', '    docker compose up -d', '', `On the machine: ${where}.`, ...notes, ...wiring]
    .map((line) => `# ${line}`.trimEnd())
    .join('\n')
}

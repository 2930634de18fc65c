import {
  CA_IN_CONTAINER,
  CLUSTER_LABEL,
  KEYS_IN_CONTAINER,
  NODE_LABEL,
  SECRETS_IN_CONTAINER,
  TLS_LABEL,
} from '../containers/compose-project.js'
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
  peerPortOf,
  schemeOf,
  serversOfExport,
  TOPOLOGY_IN_CONTAINER,
  topologyArgument,
} from './plan.js'
import { hostOf, refuseHosts } from './compose-hosts.js'
import { hasSecrets, type Place, READ_SECRETS, SECRETS, type Service, secretsOf } from './compose-secrets.js'
import { sealKeyFile } from './secrets.js'
import { planOf } from '../model/topology.js'

interface ComposeOptions {
  readonly image: string
  /** The machine of each cluster, by an address that the others can reach. Absent if all share one machine. */
  readonly hosts?: ReadonlyMap<string, string> | undefined
}

const FILE = 'docker-compose.yml'
/** Operators start the machines one after the other. */
const HOSTS_TIMEOUT = '30m'

/**
 * Exports a topology as compose files: one service per server, and `wire`, which initializes, unseals and joins the servers, and
 * stores the keys in a volume. `wire` exits with status 0, and runs with every `up` to unseal restarted servers. With several
 * machines, there is one directory per machine, and the machine of the first cluster wires all of them.
 */
export const exportCompose = (source: ExportSource, options: ComposeOptions): ExportedFile[] => {
  const { topology } = source
  if (options.hosts) refuseHosts(source, options.hosts)
  const places = serversOfExport(topology).map((server) =>
    placeOf(source, server, options.hosts && hostOf(options.hosts, server)),
  )
  const machines = [...new Set(places.map(({ host }) => host))]
  return machines.flatMap((host, index) => {
    const own = places.filter((place) => place.host === host)
    const prefix = host === undefined ? '' : `${host}/`
    const withWire = index === 0
    const text = render(source, { own, places, isWiring: withWire }, options)
    return [
      { path: `${prefix}${FILE}`, text },
      ...(withWire && source.fileText !== undefined ? [{ path: `${prefix}topology.yaml`, text: source.fileText }] : []),
    ]
  })
}

const placeOf = ({ topology }: ExportSource, server: ExportedServer, host: string | undefined): Place => {
  const { cluster, port } = server
  const service = server.name.toLowerCase()
  return {
    ...server,
    service,
    host,
    api: `${schemeOf(topology, cluster)}://${host ? `${host}:${port}` : `${service}:${API_PORT}`}`,
    isTls: hasTls(topology, cluster),
    isAutoSealed: planOf(topology, cluster).seal?.type === 'auto',
    followsTls: topology.links.some(({ primary, secondary }) => secondary === cluster && hasTls(topology, primary)),
  }
}

interface Machine {
  readonly own: readonly Place[]
  /** Includes the servers on other machines. */
  readonly places: readonly Place[]
  /** Whether this machine wires all clusters. */
  readonly isWiring: boolean
}

const render = (source: ExportSource, { own, places, isWiring }: Machine, options: ComposeOptions): string => {
  const all = isWiring ? places : []
  const image = `\${UNDERSTUDY_IMAGE:-${options.image}}`
  const document = {
    services: {
      ...secretsOf(own, image),
      ...Object.fromEntries(own.map((place) => [place.service, serverOf(place, places, source, image)])),
      ...(all.length > 0 ? wiringOf(source, own, all, image) : {}),
    },
    volumes: Object.fromEntries([
      ...own.map(({ service }) => [`${service}-data`, null]),
      ...(own.some(hasSecrets) ? [['secrets', null]] : []),
      ...(all.length > 0 ? [['keys', null]] : []),
    ]),
  }
  const yaml = loadYaml().stringify(document, { aliasDuplicateObjects: false, lineWidth: 0, nullStr: '' })
  return `${headOf(source, own, all)}\n${yaml}`
}

const serverOf = (place: Place, places: readonly Place[], { topology }: ExportSource, image: string): Service => {
  const { name, cluster, service, port, host, api, isTls, isAutoSealed } = place
  const nodes = places.filter((one) => one.cluster === cluster)
  const isNode = nodes.length > 1
  const peer = isNode && host ? peerPortOf(place) : undefined
  const config = configText(topology, cluster, {
    self: {
      nodeId: service,
      api,
      cluster: host ? `https://${host}:${port + 1}` : `https://${service}:${CLUSTER_PORT}`,
    },
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
  const published = `\${${name}_PORT:-${port}}:${API_PORT}`
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
      : [`127.0.0.1:${published}`],
    environment: { VAULT_LOCAL_CONFIG: config.replaceAll('$', '$$$$') },
    volumes: [`${service}-data:/vault/file`, ...(hasSecrets(place) ? [READ_SECRETS] : [])],
    ...(hasSecrets(place) ? { depends_on: { [SECRETS]: { condition: 'service_completed_successfully' } } } : {}),
    stop_grace_period: '20s',
  }
}

const wiringOf = (
  source: ExportSource,
  own: readonly Place[],
  all: readonly Place[],
  image: string,
): Record<string, Service> => {
  const addresses = all.map(({ name, api }) => `${name}=${api}`)
  const verify = all.some(({ isTls }) => isTls) ? ['--ca-cert', CA_IN_CONTAINER] : []
  const healthy = Object.fromEntries(own.map(({ service }) => [service, { condition: 'service_healthy' }]))
  const base = {
    image,
    healthcheck: { disable: true },
    volumes: [
      'keys:/vault/data',
      ...(verify.length > 0 ? [READ_SECRETS] : []),
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
      `understudy ${['attach lab --keys', KEYS_IN_CONTAINER, ...verify].join(' ')} >/dev/null && understudy ${command} --name lab`,
    ],
  })
  return {
    wire: {
      ...base,
      command: [
        'wire',
        '--topology',
        topologyArgument(source),
        '--keep',
        KEYS_IN_CONTAINER,
        ...verify,
        ...timeout,
        ...addresses,
      ],
    },
    status: tool('status'),
    probe: tool('probe'),
  }
}

const headOf = ({ topology }: ExportSource, own: readonly Place[], all: readonly Place[]): string => {
  const where = own
    .map(({ name, cluster, port, host }) => `${name} ${schemeOf(topology, cluster)}://${host ?? '127.0.0.1'}:${port}`)
    .join(', ')
  const secrets = own.some(hasSecrets)
    ? ['`secrets` makes what servers keep to themselves, in the volume "secrets", when it is not there yet.']
    : []
  const wiring =
    all.length === 0
      ? ['The machine of the first cluster joins them to the others.']
      : [
          '`wire` initialises, unseals and joins the clusters, keeps their keys in the volume "keys", and ends with status 0.',
          'After a stop the next `docker compose up` unseals them again. What needs them ready depends on',
          '`wire` with the condition service_completed_successfully. `docker compose run --rm status` and',
          '`... probe` look at them; `docker compose down -v` ends them, with keys and data.',
        ]
  return [headlineOf(topology), '', '    docker compose up -d', '', `On the machine: ${where}.`, ...secrets, ...wiring]
    .map((line) => `# ${line}`.trimEnd())
    .join('\n')
}

import type { StatefulSet } from 'kubernetes-types/apps/v1.js'
import type { ConfigMap, Container, EnvVar, Secret, Service } from 'kubernetes-types/core/v1.js'
import { createLabCertificates, labTlsFiles } from '../../server/dev/dev-tls.js'
import { loadYaml } from '../documents/yaml-document.js'
import { newSealKey } from '../model/seal-key.js'
import { serversOf } from '../model/topology.js'
import { topologyText } from '../topology/catalogue.js'
import {
  CONFINED,
  type KubernetesOptions,
  labelsOf,
  metadataOf,
  podOf,
  serviceOf,
  TLS_DIRECTORY,
  tlsSecretOf,
  UNPRIVILEGED,
} from './kubernetes-parts.js'
import { wiringObjects } from './kubernetes-wiring.js'
import { API_PORT, CLUSTER_PORT, configText, type ExportSource, hasTls, headlineOf, schemeOf } from './plan.js'

type KubernetesObject = StatefulSet | Service | ConfigMap | Secret | ReturnType<typeof wiringObjects>[number]

const SEAL_KEY = 'SEAL_KEY'

/**
 * Exports a topology as Kubernetes objects. Each cluster has a StatefulSet with its configuration and a headless Service for the
 * other clusters. A second Service routes clients only to pods that serve them. The nodes of a cluster are replicas that join one
 * another. Since pods restart, servers unseal themselves with the key of their cluster from a Secret. Certificates are in another
 * Secret. A Job initializes and joins the clusters.
 */
const kubernetesObjects = async (source: ExportSource, options: KubernetesOptions): Promise<KubernetesObject[]> => [
  sealKeys(source, options),
  ...(await certificates(source, options)),
  ...source.topology.clusters.flatMap((name) => clusterObjects(name, source, options)),
  ...wiringObjects(source, autoSealed(source), options),
]

export const exportKubernetes = async (source: ExportSource, options: KubernetesOptions): Promise<string> => {
  const { stringify } = loadYaml()
  const head = [
    `# ${headlineOf(source.topology)}`,
    '#',
    `#     kubectl apply -f FILE && kubectl wait --for=condition=complete --timeout=10m job/${options.prefix}-wire`,
    '#',
    `# ${options.prefix}-a-active and so on lead to the clusters that serve clients; a DR secondary is alive and not ready, so its`,
    '# own leads nowhere until it is promoted. Keys and tokens are in the volume of the wiring:',
    '#',
    `#     kubectl exec deploy/${options.prefix}-tools -- cat /vault/data/wired.json`,
    '',
  ].join('\n')
  const documents = (await kubernetesObjects(source, options)).map((object) =>
    stringify(object, { aliasDuplicateObjects: false, lineWidth: 0 }),
  )
  return `${head}${documents.map((text) => `---\n${text}`).join('')}`
}

/** Returns the topology file with auto-unseal for all of its clusters. */
const autoSealed = ({ topology, fileText }: ExportSource): string => {
  const { parseDocument, isMap } = loadYaml()
  const document = parseDocument(fileText ?? topologyText(topology.name))
  document.setIn(['defaults', 'seal'], 'auto')
  for (const name of topology.clusters) {
    if (isMap(document.getIn(['clusters', name]))) document.deleteIn(['clusters', name, 'seal'])
  }
  return String(document)
}

const sealKeys = ({ topology }: ExportSource, options: KubernetesOptions): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: metadataOf(`${options.prefix}-seal`, options),
  type: 'Opaque',
  data: Object.fromEntries(
    // The value is the base64 text of the key, which a Secret encodes as base64 once more.
    topology.clusters.map((name) => [name, encode(newSealKey(options.random).toString('base64'))]),
  ),
})

/** Creates a CA, and one certificate for all clusters with TLS that lists the names of their Services. */
const certificates = async ({ topology }: ExportSource, options: KubernetesOptions): Promise<Secret[]> => {
  const { prefix, namespace, nowMs } = options
  const services = topology.clusters
    .filter((name) => hasTls(topology, name))
    .flatMap((name) => {
      const nodes = serversOf(topology, name)
      const pods = nodes.length > 1 ? nodes.map((_, index) => podOf(prefix, name, index)) : []
      return [serviceOf(prefix, name), `${serviceOf(prefix, name)}-active`, ...pods]
    })
  if (services.length === 0) return []
  const elsewhere =
    namespace === undefined ? [] : services.flatMap((name) => [`${name}.${namespace}`, `${name}.${namespace}.svc`])
  const { ca, certificate, privateKey } = await createLabCertificates([...services, ...elsewhere], nowMs)
  const data = { 'ca.pem': encode(ca), 'cert.pem': encode(certificate), 'key.pem': encode(privateKey) }
  return [
    { apiVersion: 'v1', kind: 'Secret', metadata: metadataOf(tlsSecretOf(prefix), options), type: 'Opaque', data },
  ]
}

const encode = (text: string): string => Buffer.from(text).toString('base64')

const clusterObjects = (
  name: string,
  { topology }: ExportSource,
  options: KubernetesOptions,
): (ConfigMap | Service | StatefulSet)[] => {
  const { prefix, image } = options
  const service = serviceOf(prefix, name)
  const metadata = (suffix = '') => metadataOf(`${service}${suffix}`, options, name)
  const selector = labelsOf(prefix, name)
  const isTls = hasTls(topology, name)
  const scheme = schemeOf(topology, name)
  const replicas = serversOf(topology, name).length
  const apis = Array.from({ length: replicas }, (_, index) => `${scheme}://${podOf(prefix, name, index)}:${API_PORT}`)
  const caFile = isTls ? labTlsFiles(TLS_DIRECTORY).caFile : undefined
  const cluster = `https://${service}:${CLUSTER_PORT}`
  const place = {
    ...(replicas > 1
      ? { peers: { apis, caFile } }
      : { self: { nodeId: name.toLowerCase(), api: `${scheme}://${service}:${API_PORT}`, cluster } }),
    tlsDirectory: TLS_DIRECTORY,
    sealKey: `env://${SEAL_KEY}`,
  }
  const names = replicas > 1 ? podNames(service, scheme) : []
  return [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: metadata(),
      data: { 'server.hcl': configText(topology, name, place) },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: metadata(),
      // Other clusters must reach it in every role, and before it has a role.
      spec: { clusterIP: 'None', publishNotReadyAddresses: true, selector, ports: [apiPort, clusterPort] },
    },
    { apiVersion: 'v1', kind: 'Service', metadata: metadata('-active'), spec: { selector, ports: [apiPort] } },
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: metadata(),
      spec: {
        serviceName: service,
        replicas,
        // No node is ready before a majority of nodes runs.
        ...(replicas > 1 ? { podManagementPolicy: 'Parallel' } : {}),
        selector: { matchLabels: selector },
        template: {
          metadata: { labels: selector },
          spec: {
            securityContext: UNPRIVILEGED,
            terminationGracePeriodSeconds: 20,
            containers: [serverContainer({ name, image, prefix, isTls, names })],
            volumes: [
              { name: 'config', configMap: { name: service } },
              ...(isTls
                ? [{ name: 'tls', secret: { secretName: tlsSecretOf(prefix), defaultMode: GROUP_READS } }]
                : []),
            ],
          },
        },
        volumeClaimTemplates: [
          {
            metadata: { name: 'data' },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
          },
        ],
      },
    },
  ]
}

const apiPort = { name: 'api', port: API_PORT, targetPort: 'api' }
const clusterPort = { name: 'cluster', port: CLUSTER_PORT, targetPort: 'cluster' }

/** Liveness: the server responds in any state. */
const ALIVE = '/v1/sys/health?standbyok=true&perfstandbyok=true&sealedcode=200&uninitcode=200&drsecondarycode=200'
/** Readiness of a single server: unsealed, active and not a DR secondary (status 472). */
const READY = '/v1/sys/health'

/** The group of the volumes is the group of the servers. Other users must not read keys. */
const GROUP_READS = 0o440

/** Readiness of a node: accepts client requests. That includes standbys, which forward requests. */
const READY_NODE = '/v1/sys/health?standbyok=true&perfstandbyok=true'

/** Replicas share one configuration, so each reads its pod name from the environment. */
const podNames = (service: string, scheme: string): EnvVar[] => [
  { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
  { name: 'VAULT_RAFT_NODE_ID', value: '$(POD)' },
  { name: 'VAULT_API_ADDR', value: `${scheme}://$(POD).${service}:${API_PORT}` },
  { name: 'VAULT_CLUSTER_ADDR', value: `https://$(POD).${service}:${CLUSTER_PORT}` },
]

interface ServerOfPod {
  readonly name: string
  readonly image: string
  readonly prefix: string
  readonly isTls: boolean
  /** Environment variables of a node in a cluster with several nodes. */
  readonly names: readonly EnvVar[]
}

const serverContainer = ({ name, image, prefix, isTls, names }: ServerOfPod): Container => ({
  name: 'server',
  image,
  args: ['server'],
  env: [
    { name: 'SKIP_CHOWN', value: '1' },
    { name: SEAL_KEY, valueFrom: { secretKeyRef: { name: `${prefix}-seal`, key: name } } },
    ...names,
  ],
  ports: [
    { name: 'api', containerPort: API_PORT },
    { name: 'cluster', containerPort: CLUSTER_PORT },
  ],
  startupProbe: { httpGet: get(ALIVE, isTls), periodSeconds: 1, failureThreshold: 60 },
  livenessProbe: { httpGet: get(ALIVE, isTls), periodSeconds: 10, timeoutSeconds: 5 },
  readinessProbe: {
    httpGet: get(names.length > 0 ? READY_NODE : READY, isTls),
    periodSeconds: 2,
    timeoutSeconds: 5,
    failureThreshold: 1,
  },
  securityContext: CONFINED,
  volumeMounts: [
    { name: 'config', mountPath: '/vault/config', readOnly: true },
    { name: 'data', mountPath: '/vault/file' },
    ...(isTls ? [{ name: 'tls', mountPath: TLS_DIRECTORY, readOnly: true }] : []),
  ],
})

const get = (path: string, isTls: boolean) => ({ path, port: 'api', ...(isTls ? { scheme: 'HTTPS' } : {}) })

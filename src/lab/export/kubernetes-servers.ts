import type { StatefulSet } from 'kubernetes-types/apps/v1.js'
import type { ConfigMap, Container, EnvVar, PodSpec, PodTemplateSpec, Service } from 'kubernetes-types/core/v1.js'
import type { Random } from '../../base/random.js'
import { labTlsFiles } from '../../server/dev/dev.js'
import { serversOf, type Topology } from '../model/topology.js'
import { API_PORT, CLUSTER_PORT, configText, type ExportSource, hasTls, schemeOf } from './plan.js'

export interface KubernetesOptions {
  readonly image: string
  /** The prefix of all object names. */
  readonly prefix: string
  readonly namespace?: string | undefined
  /** Source of the auto-unseal keys. */
  readonly random: Random
  /** Start of the validity of the certificates. Milliseconds since the epoch. */
  readonly nowMs: number
}

/** The user ID of the image. */
const USER_ID = 8200

/** The security context of every container: no privileges. */
export const CONFINED = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } }
const UNPRIVILEGED = {
  runAsUser: USER_ID,
  runAsGroup: USER_ID,
  runAsNonRoot: true,
  fsGroup: USER_ID,
  seccompProfile: { type: 'RuntimeDefault' as const },
}

/** Returns a pod template without privileges. */
export const podOf = (labels: Record<string, string>, { restartPolicy, ...spec }: PodSpec): PodTemplateSpec => ({
  metadata: { labels },
  spec: { ...(restartPolicy && { restartPolicy }), securityContext: UNPRIVILEGED, ...spec },
})

/** Returns a function that creates the head of an object. `cluster`: absent if all clusters share the object. */
export const headsOf =
  ({ prefix, namespace }: KubernetesOptions, cluster?: string) =>
  <const V extends string, const K extends string>(apiVersion: V, kind: K, name: string) => ({
    apiVersion,
    kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), labels: labelsOf(prefix, cluster) },
  })

export const labelsOf = (prefix: string, cluster?: string): Record<string, string> => ({
  'app.kubernetes.io/name': 'understudy',
  'app.kubernetes.io/instance': prefix,
  ...(cluster === undefined ? {} : { 'understudy/cluster': cluster }),
})

/** The Secret with the certificates and their key. */
export const tlsSecretOf = (prefix: string): string => `${prefix}-tls`

/** The directory of certificates in a container. */
const TLS_DIRECTORY = '/vault/tls'
export const CA_FILE = labTlsFiles(TLS_DIRECTORY).caFile
export const TLS_MOUNT = { name: 'tls', mountPath: TLS_DIRECTORY, readOnly: true }

/** Returns the DNS names of a cluster's servers: those of its pods, or of its Service for a single server. */
export const hostsOf = (topology: Topology, prefix: string, cluster: string): string[] => {
  const service = serviceOf(prefix, cluster)
  const servers = serversOf(topology, cluster)
  return servers.length > 1 ? servers.map((_, index) => `${service}-${index}.${service}`) : [service]
}

export const serviceOf = (prefix: string, cluster: string): string => `${prefix}-${cluster.toLowerCase()}`

const SEAL_KEY = 'SEAL_KEY'

/** Returns the configuration, the Services and the StatefulSet of one cluster. */
export const clusterObjects = (
  name: string,
  { topology }: ExportSource,
  options: KubernetesOptions,
): (ConfigMap | Service | StatefulSet)[] => {
  const { prefix } = options
  const service = serviceOf(prefix, name)
  const headed = headsOf(options, name)
  const selector = labelsOf(prefix, name)
  const isTls = hasTls(topology, name)
  const scheme = schemeOf(topology, name)
  const apis = hostsOf(topology, prefix, name).map((host) => `${scheme}://${host}:${API_PORT}`)
  const [api = '', ...others] = apis
  const replicas = 1 + others.length
  const place = {
    ...(replicas > 1
      ? { peers: { apis, caFile: isTls ? CA_FILE : undefined } }
      : { self: { nodeId: name.toLowerCase(), api, cluster: `https://${service}:${CLUSTER_PORT}` } }),
    tlsDirectory: TLS_DIRECTORY,
    sealKey: `env://${SEAL_KEY}`,
  }
  const names = replicas > 1 ? podNames(service, scheme) : []
  return [
    { ...headed('v1', 'ConfigMap', service), data: { 'server.hcl': configText(topology, name, place) } },
    {
      ...headed('v1', 'Service', service),
      // Other clusters must reach the server before it is ready, for example as a DR secondary or without a role.
      spec: { clusterIP: 'None', publishNotReadyAddresses: true, selector, ports: [apiPort, clusterPort] },
    },
    { ...headed('v1', 'Service', `${service}-active`), spec: { selector, ports: [apiPort] } },
    {
      ...headed('apps/v1', 'StatefulSet', service),
      spec: {
        serviceName: service,
        replicas,
        // A node is ready only when a majority of the nodes runs, so the nodes must start together.
        ...(replicas > 1 ? { podManagementPolicy: 'Parallel' } : {}),
        selector: { matchLabels: selector },
        template: podOf(selector, {
          terminationGracePeriodSeconds: 20,
          containers: [serverContainer(name, options, isTls, names)],
          volumes: [
            { name: 'config', configMap: { name: service } },
            ...(isTls ? [{ name: 'tls', secret: { secretName: tlsSecretOf(prefix), defaultMode: GROUP_READS } }] : []),
          ],
        }),
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

/** Readiness of a single server: unsealed, active and not a DR secondary (status 472). */
const READY = '/v1/sys/health'
/** Readiness of a node: accepts client requests. That includes standbys, which forward requests. */
const READY_NODE = `${READY}?standbyok=true&perfstandbyok=true`
/** Liveness: the server responds in any state. */
const ALIVE = `${READY_NODE}&sealedcode=200&uninitcode=200&drsecondarycode=200`

/** File mode of mounted secrets: readable by the group of the servers, and by no other user. */
const GROUP_READS = 0o440

/** Returns the variables with the name and addresses of a pod, because replicas share one configuration file. */
const podNames = (service: string, scheme: string): EnvVar[] => [
  { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
  { name: 'VAULT_RAFT_NODE_ID', value: '$(POD)' },
  { name: 'VAULT_API_ADDR', value: `${scheme}://$(POD).${service}:${API_PORT}` },
  { name: 'VAULT_CLUSTER_ADDR', value: `https://$(POD).${service}:${CLUSTER_PORT}` },
]

/** Returns the container of a server. `names`: the variables of `podNames` in a multi-node cluster, otherwise empty. */
const serverContainer = (
  cluster: string,
  { image, prefix }: KubernetesOptions,
  isTls: boolean,
  names: readonly EnvVar[],
): Container => ({
  name: 'server',
  image,
  args: ['server'],
  env: [
    { name: 'SKIP_CHOWN', value: '1' },
    { name: SEAL_KEY, valueFrom: { secretKeyRef: { name: `${prefix}-seal`, key: cluster } } },
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
    ...(isTls ? [TLS_MOUNT] : []),
  ],
})

const get = (path: string, isTls: boolean) => ({ path, port: 'api', ...(isTls ? { scheme: 'HTTPS' } : {}) })

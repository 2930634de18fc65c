import type { Deployment } from 'kubernetes-types/apps/v1.js'
import type { Job } from 'kubernetes-types/batch/v1.js'
import type { ConfigMap, PersistentVolumeClaim, Secret } from 'kubernetes-types/core/v1.js'
import { createLabCertificates } from '../../server/dev/dev.js'
import { KEYS_IN_CONTAINER } from '../containers/compose-project.js'
import { loadYaml } from '../documents/yaml-document.js'
import { newSealKey } from '../model/seal-key.js'
import { serversOf } from '../model/topology.js'
import { topologyText } from '../topology/catalogue.js'
import {
  CA_FILE,
  clusterObjects,
  CONFINED,
  headsOf,
  hostsOf,
  type KubernetesOptions,
  labelsOf,
  podOf,
  serviceOf,
  TLS_MOUNT,
  tlsSecretOf,
} from './kubernetes-servers.js'
import { API_PORT, type ExportSource, hasTls, headlineOf, schemeOf } from './plan.js'

/**
 * Exports a topology as Kubernetes objects. Each cluster has a StatefulSet with its configuration and a headless
 * Service for the other clusters. A second Service routes clients only to pods that serve them. The nodes of a cluster
 * are replicas that join one another. Since pods restart, servers unseal themselves with the key of their cluster from
 * a Secret. Certificates are in another Secret. A Job initializes and joins the clusters.
 */
export const exportKubernetes = async (source: ExportSource, options: KubernetesOptions): Promise<string> => {
  const { stringify } = loadYaml()
  const objects = [
    sealKeys(source, options),
    ...(await certificates(source, options)),
    ...source.topology.clusters.flatMap((name) => clusterObjects(name, source, options)),
    ...wiringObjects(source, options),
  ]
  const head = [
    `# ${headlineOf(source.topology)}`,
    '#',
    `#     kubectl apply -f FILE && kubectl wait --for=condition=complete --timeout=10m job/${options.prefix}-wire`,
    '#',
    `# Clients use the services ${options.prefix}-a-active and so on. A DR secondary is not ready, so its service has no endpoints until`,
    '# the cluster is promoted. To print the keys and tokens:',
    '#',
    `#     kubectl exec deploy/${options.prefix}-tools -- cat /vault/data/wired.json`,
    '',
  ].join('\n')
  const texts = objects.map((object) => stringify(object, { aliasDuplicateObjects: false, lineWidth: 0 }))
  return `${head}${texts.map((text) => `---\n${text}`).join('')}`
}

/** Returns the topology file, changed to use auto-unseal in all clusters. */
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
  ...headsOf(options)('v1', 'Secret', `${options.prefix}-seal`),
  type: 'Opaque',
  data: Object.fromEntries(
    // The server reads the key as base64 text, and a Secret encodes each value as base64 once more.
    topology.clusters.map((name) => [name, encode(newSealKey(options.random).toString('base64'))]),
  ),
})

/** Creates a CA, and one certificate with the DNS names of all clusters that use TLS. */
const certificates = async ({ topology }: ExportSource, options: KubernetesOptions): Promise<Secret[]> => {
  const { prefix, namespace, nowMs } = options
  const services = topology.clusters
    .filter((name) => hasTls(topology, name))
    .flatMap((name) => {
      const service = serviceOf(prefix, name)
      return [...new Set([service, `${service}-active`, ...hostsOf(topology, prefix, name)])]
    })
  if (services.length === 0) return []
  const elsewhere =
    namespace === undefined ? [] : services.flatMap((name) => [`${name}.${namespace}`, `${name}.${namespace}.svc`])
  const { ca, certificate, privateKey } = await createLabCertificates([...services, ...elsewhere], nowMs)
  const data = { 'ca.pem': encode(ca), 'cert.pem': encode(certificate), 'key.pem': encode(privateKey) }
  return [{ ...headsOf(options)('v1', 'Secret', tlsSecretOf(prefix)), type: 'Opaque', data }]
}

const encode = (text: string): string => Buffer.from(text).toString('base64')

const TOPOLOGY_DIRECTORY = '/vault/topology'

/**
 * Returns the objects for the setup of the lab: a Job that joins the clusters once and stores the keys in a volume, and
 * an idle Deployment in which operators can run commands.
 */
const wiringObjects = (
  source: ExportSource,
  options: KubernetesOptions,
): (ConfigMap | PersistentVolumeClaim | Job | Deployment)[] => {
  const { topology } = source
  const { prefix, image } = options
  const headed = headsOf(options)
  const addresses = topology.clusters.flatMap((cluster) => {
    const hosts = hostsOf(topology, prefix, cluster)
    const scheme = schemeOf(topology, cluster)
    return serversOf(topology, cluster).map((name, index) => `${name}=${scheme}://${hosts[index]}:${API_PORT}`)
  })
  const withTls = topology.clusters.some((name) => hasTls(topology, name))
  const labelsFor = (part: string) => ({ ...labelsOf(prefix), 'understudy/part': part })
  const volumes = [
    { name: 'keys', persistentVolumeClaim: { claimName: `${prefix}-keys` } },
    { name: 'topology', configMap: { name: `${prefix}-topology` } },
    // Mounts the CA alone, because only servers may read the private key.
    ...(withTls
      ? [{ name: 'tls', secret: { secretName: tlsSecretOf(prefix), items: [{ key: 'ca.pem', path: 'ca.pem' }] } }]
      : []),
  ]
  const container = {
    image,
    env: [{ name: 'HOME', value: '/tmp' }],
    securityContext: CONFINED,
    volumeMounts: [
      { name: 'keys', mountPath: '/vault/data' },
      { name: 'topology', mountPath: TOPOLOGY_DIRECTORY, readOnly: true },
      ...(withTls ? [TLS_MOUNT] : []),
    ],
  }
  const verify = withTls ? ['--ca-cert', CA_FILE] : []
  const keep = ['--topology', `${TOPOLOGY_DIRECTORY}/topology.yaml`, '--keep', KEYS_IN_CONTAINER]
  const wire = ['wire', ...keep, ...verify, '--timeout', '10m', ...addresses]
  return [
    { ...headed('v1', 'ConfigMap', `${prefix}-topology`), data: { 'topology.yaml': autoSealed(source) } },
    {
      ...headed('v1', 'PersistentVolumeClaim', `${prefix}-keys`),
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Mi' } } },
    },
    {
      ...headed('batch/v1', 'Job', `${prefix}-wire`),
      spec: {
        backoffLimit: 10,
        template: podOf(labelsFor('wiring'), {
          restartPolicy: 'OnFailure',
          containers: [{ ...container, name: 'wire', args: wire }],
          volumes,
        }),
      },
    },
    {
      ...headed('apps/v1', 'Deployment', `${prefix}-tools`),
      spec: {
        replicas: 1,
        selector: { matchLabels: labelsFor('tools') },
        template: podOf(labelsFor('tools'), {
          terminationGracePeriodSeconds: 1,
          containers: [{ ...container, name: 'tools', command: ['tail', '-f', '/dev/null'] }],
          volumes,
        }),
      },
    },
  ]
}

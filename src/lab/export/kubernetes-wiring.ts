import type { Deployment } from 'kubernetes-types/apps/v1.js'
import type { Job } from 'kubernetes-types/batch/v1.js'
import type { ConfigMap, PersistentVolumeClaim } from 'kubernetes-types/core/v1.js'
import { KEYS_IN_CONTAINER } from '../containers/compose-project.js'
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
import { labTlsFiles } from '../../server/dev/dev-tls.js'
import { serversOf } from '../model/topology.js'
import { API_PORT, type ExportSource, hasTls, schemeOf } from './plan.js'

const TOPOLOGY_DIRECTORY = '/vault/topology'

/**
 * Returns the objects that join the clusters once, store the keys in a volume, and give operators a shell inside: a Job, and an
 * idle Deployment.
 */
export const wiringObjects = (
  { topology }: ExportSource,
  topologyFile: string,
  options: KubernetesOptions,
): (ConfigMap | PersistentVolumeClaim | Job | Deployment)[] => {
  const { prefix, image } = options
  const addresses = topology.clusters.flatMap((cluster) => {
    const servers = serversOf(topology, cluster)
    const hostOf = (index: number) => (servers.length > 1 ? podOf(prefix, cluster, index) : serviceOf(prefix, cluster))
    return servers.map((name, index) => `${name}=${schemeOf(topology, cluster)}://${hostOf(index)}:${API_PORT}`)
  })
  const withTls = topology.clusters.some((name) => hasTls(topology, name))
  const file = `${TOPOLOGY_DIRECTORY}/topology.yaml`
  const labels = { ...labelsOf(prefix), 'understudy/part': 'wiring' }
  const volumes = [
    { name: 'keys', persistentVolumeClaim: { claimName: `${prefix}-keys` } },
    { name: 'topology', configMap: { name: `${prefix}-topology` } },
    // Only servers may read the private key of the certificates.
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
      ...(withTls ? [{ name: 'tls', mountPath: TLS_DIRECTORY, readOnly: true }] : []),
    ],
  }
  const verify = withTls ? ['--ca-cert', labTlsFiles(TLS_DIRECTORY).caFile] : []
  const wire = ['wire', '--topology', file, '--keep', KEYS_IN_CONTAINER, ...verify, '--timeout', '10m', ...addresses]
  return [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: metadataOf(`${prefix}-topology`, options),
      data: { 'topology.yaml': topologyFile },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: metadataOf(`${prefix}-keys`, options),
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Mi' } } },
    },
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: metadataOf(`${prefix}-wire`, options),
      spec: {
        backoffLimit: 10,
        template: {
          metadata: { labels },
          spec: {
            restartPolicy: 'OnFailure',
            securityContext: UNPRIVILEGED,
            containers: [{ ...container, name: 'wire', args: wire }],
            volumes,
          },
        },
      },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: metadataOf(`${prefix}-tools`, options),
      spec: {
        replicas: 1,
        selector: { matchLabels: { ...labels, 'understudy/part': 'tools' } },
        template: {
          metadata: { labels: { ...labels, 'understudy/part': 'tools' } },
          spec: {
            securityContext: UNPRIVILEGED,
            terminationGracePeriodSeconds: 1,
            containers: [{ ...container, name: 'tools', command: ['tail', '-f', '/dev/null'] }],
            volumes,
          },
        },
      },
    },
  ]
}

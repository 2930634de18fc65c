import type { Deployment } from 'kubernetes-types/apps/v1.js'
import type { Job } from 'kubernetes-types/batch/v1.js'
import type { ConfigMap, PersistentVolumeClaim } from 'kubernetes-types/core/v1.js'
import { KEYS_IN_CONTAINER } from '../attach/compose-project.js'
import { CONFINED, type KubernetesOptions, labelsOf, metadataOf, serviceOf, UNPRIVILEGED } from './kubernetes-parts.js'
import { API_PORT, type ExportSource } from './plan.js'

const TOPOLOGY_DIRECTORY = '/vault/topology'

/**
 * The objects that join the clusters of an export once, keep what they learn in a volume, and let people look from within: a
 * Job, and a Deployment that waits to be asked.
 */
export const wiringObjects = (
  { topology }: ExportSource,
  topologyFile: string,
  options: KubernetesOptions,
): (ConfigMap | PersistentVolumeClaim | Job | Deployment)[] => {
  const { prefix, image } = options
  const addresses = topology.clusters.map((name) => `${name}=http://${serviceOf(prefix, name)}:${API_PORT}`)
  const file = `${TOPOLOGY_DIRECTORY}/topology.yaml`
  const labels = { ...labelsOf(prefix), 'understudy/part': 'wiring' }
  const volumes = [
    { name: 'keys', persistentVolumeClaim: { claimName: `${prefix}-keys` } },
    { name: 'topology', configMap: { name: `${prefix}-topology` } },
  ]
  const container = {
    image,
    env: [{ name: 'HOME', value: '/tmp' }],
    securityContext: CONFINED,
    volumeMounts: [
      { name: 'keys', mountPath: '/vault/data' },
      { name: 'topology', mountPath: TOPOLOGY_DIRECTORY, readOnly: true },
    ],
  }
  const wire = ['wire', '--topology', file, '--keep', KEYS_IN_CONTAINER, '--timeout', '10m', ...addresses]
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

import type { Random } from '../../base/random.js'

export interface KubernetesOptions {
  readonly image: string
  /** In front of the name of every object. */
  readonly prefix: string
  readonly namespace?: string | undefined
  /** Keys that servers unseal themselves with are made by it. */
  readonly random: Random
  /** Certificates are good from now on. */
  readonly nowMs: number
}

/** The user of the image. */
const USER_ID = 8200

/** The rights of every container: none beyond its own files. */
export const CONFINED = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } }
export const UNPRIVILEGED = {
  runAsUser: USER_ID,
  runAsGroup: USER_ID,
  runAsNonRoot: true,
  fsGroup: USER_ID,
  seccompProfile: { type: 'RuntimeDefault' as const },
}

export const metadataOf = (name: string, { prefix, namespace }: KubernetesOptions, cluster?: string) => ({
  name,
  ...(namespace === undefined ? {} : { namespace }),
  labels: labelsOf(prefix, cluster),
})

export const labelsOf = (prefix: string, cluster?: string): Record<string, string> => ({
  'app.kubernetes.io/name': 'understudy',
  'app.kubernetes.io/instance': prefix,
  ...(cluster === undefined ? {} : { 'understudy/cluster': cluster }),
})

/** The Secret with certificates and their key, and where it is mounted. */
export const tlsSecretOf = (prefix: string): string => `${prefix}-tls`
export const TLS_DIRECTORY = '/vault/tls'

/** A server of a cluster: the pod of its StatefulSet, which the Service without an address gives a name. */
export const podOf = (prefix: string, cluster: string, index: number): string => {
  const service = serviceOf(prefix, cluster)
  return `${service}-${index}.${service}`
}

export const serviceOf = (prefix: string, cluster: string): string => `${prefix}-${cluster.toLowerCase()}`

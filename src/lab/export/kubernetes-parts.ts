import type { Random } from '../../base/random.js'

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

/** Returns the name of the Secret that contains the certificates and their key. */
export const tlsSecretOf = (prefix: string): string => `${prefix}-tls`
export const TLS_DIRECTORY = '/vault/tls'

/** Returns the DNS name of a server: the pod of its StatefulSet in the headless Service. */
export const podOf = (prefix: string, cluster: string, index: number): string => {
  const service = serviceOf(prefix, cluster)
  return `${service}-${index}.${service}`
}

export const serviceOf = (prefix: string, cluster: string): string => `${prefix}-${cluster.toLowerCase()}`

import { SECRETS_IN_CONTAINER } from '../containers/compose-project.js'
import type { ExportedServer } from './plan.js'

/** The address of a server for the other servers, and its port on the machine. */
export interface Place extends ExportedServer {
  readonly service: string
  /** Undefined if all containers share one network. */
  readonly host: string | undefined
  /** The address of its API for the other containers. */
  readonly api: string
  readonly isTls: boolean
  readonly isAutoSealed: boolean
  /** The server redeems activation tokens at an API with TLS, and needs the CA certificate of that API. */
  readonly followsTls: boolean
}

export type Service = Readonly<Record<string, unknown>>

export const hasSecrets = ({ isTls, isAutoSealed, followsTls }: Place): boolean => isTls || isAutoSealed || followsTls

export const SECRETS = 'secrets'

/** Returns a service that creates secrets and exits before the servers start. It is idempotent and runs with every `up`. */
export const secretsOf = (own: readonly Place[], image: string): Record<string, Service> => {
  if (!own.some(hasSecrets)) return {}
  const tls = own.filter(({ isTls }) => isTls).map(({ service }) => service)
  const sealed = [...new Set(own.filter(({ isAutoSealed }) => isAutoSealed).map(({ cluster }) => cluster))]
  const flags = [
    ...(tls.length > 0 ? ['--tls', tls.join()] : []),
    ...(sealed.length > 0 ? ['--seal', sealed.join()] : []),
  ]
  return {
    [SECRETS]: {
      image,
      command: ['compose', 'secrets', SECRETS_IN_CONTAINER, ...flags],
      healthcheck: { disable: true },
      volumes: [`${SECRETS}:${SECRETS_IN_CONTAINER}`],
    },
  }
}

/** The volume of secrets, mounted read-only. */
export const READ_SECRETS = `${SECRETS}:${SECRETS_IN_CONTAINER}:ro`

import { GenerationAttempt } from '../../core/seal/generate-root.js'
import { licenseBody } from '../../core/system/node-paths.js'
import { UncountedRights } from '../../core/tokens/uncounted-rights.js'
import type { JsonObject } from '../../logical/json.js'
import { ROOT_NAMESPACE } from '../../logical/request.js'
import type { OperationTokens } from '../../replication/model/operation-token.js'
import type { PathServices } from '../../replication/host/host.js'
import type { CoreServices } from './core-services.js'
import type { OpenClusterOptions } from './open-cluster-options.js'

type Options = OpenClusterOptions & { readonly services: CoreServices; readonly operationTokens: OperationTokens }

/** Creates the part of the core that replication paths need. */
export const createPathServices = ({ config, runtime, random, services, operationTokens }: Options): PathServices => {
  const rights = new UncountedRights(services)
  return {
    wrapActivation: (payload, ttlSeconds, creationPath) =>
      services.wrapping.keep({
        namespace: ROOT_NAMESPACE,
        creationPath,
        wrap: { ttlSeconds, format: 'jwt' },
        status: 200,
        contentType: 'application/json',
        body: JSON.stringify(activationEnvelope(payload)),
        wrappedAccessor: '',
      }),
    authorize: (request) => rights.require(request),
    isBatchTokenAllowed: (presented, request) => rights.isOperationAllowed(presented, request),
    generation: new GenerationAttempt({
      strategy: 'dr-operation',
      slot: runtime.generationSlot,
      seal: runtime.seal,
      random,
      makeToken: () => operationTokens.create(),
    }),
    licenseStatus: () => licenseBody(config.own.license),
  }
}

/** Returns the response to unwrapping an activation token: the usual envelope around the bundle. */
const activationEnvelope = (data: JsonObject): JsonObject => ({
  request_id: '',
  lease_id: '',
  renewable: false,
  lease_duration: 0,
  data,
  wrap_info: null,
  warnings: null,
  auth: null,
})

import type { Log } from '../../base/log.js'
import { LogicalError } from '../../logical/errors.js'
import type { IncomingRequest, Rendered } from '../../logical/incoming.js'
import type { AnswerPlace } from '../../logical/request.js'
import { encodeRelayFailure, encodeRendered } from '../../replication/forwarding/relayed-answer.js'
import { decodeRelayed, type Relayed } from '../../replication/forwarding/relayed-request.js'
import { refusalError } from '../../replication/rpc/refusal.js'
import { refusingService } from '../../replication/rpc/refusing-service.js'
import type { ClusterService } from '../../replication/rpc/service.js'
import { goneOf } from '../runtime/waiting-room.js'
import { memberSerialOf } from './member-certificates.js'

interface RelayServiceOptions {
  /**
   * Serves a request as if it had arrived here. Throws `NotActive` if this node does not serve; the request was then not
   * executed.
   */
  readonly serve: (request: IncomingRequest, how: Omit<Relayed, 'request'>) => Promise<Rendered>
  /** Returns a budget place for a large response, held until the call ends. */
  readonly placeForCall: (ended: AbortSignal) => AnswerPlace
  /** Returns the last index of the shared log applied here. */
  readonly appliedIndex: () => number
  /** Returns whether the etcd certificate with this serial number belongs to a removed node. */
  readonly isRevoked: (serial: string) => boolean
  readonly log: Log
}

/** This node is not active, and has executed no part of the request. */
export class NotActive extends Error {
  override readonly name = 'NotActive'
}

/** Creates the service that the active node provides to the standbys of its cluster. */
export const createRelayService = (options: RelayServiceOptions): ClusterService => {
  const { serve, placeForCall, appliedIndex, isRevoked, log } = options
  const refusing = refusingService(() => refusalError('forbidden', 'a node of the cluster has no use for this'))
  return {
    ...refusing,
    forward: async ({ gone, commonName }, { payload }) => {
      const member = memberSerialOf(commonName)
      if (member !== undefined)
        throw isRevoked(member)
          ? refusalError('revoked', 'this node was removed from its cluster')
          : refusalError('forbidden', 'the certificate of an etcd member is for the etcd peer port only')
      const { request, ...how } = decodeRelayed(payload)
      try {
        const rendered = await serve({ ...request, answerRoom: placeForCall(gone), onGone: goneOf(gone) }, how)
        return { who: null, payload: encodeRendered(rendered, appliedIndex()) }
      } catch (error) {
        if (error instanceof NotActive) throw refusalError('unavailable', 'this node is not the active one')
        return { who: null, payload: encodeRelayFailure(asLogical(error, log), appliedIndex()) }
      }
    },
  }
}

/** Logs a bug here; the client does not see its details. */
const asLogical = (error: unknown, log: Log): LogicalError => {
  if (error instanceof LogicalError) return error
  log.error('a request failed inside', { error })
  return new LogicalError('internal', 'internal error')
}

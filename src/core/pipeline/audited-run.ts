import { LogicalError } from '../../logical/errors.js'
import { isWrite, type Request, type Response } from '../../logical/request.js'
import type { Authorised } from './authoriser.js'
import type { AuditBroker } from '../audit/audit.js'
import type { IdentityStore } from '../identity/identity.js'
import type { Route } from '../mounts/router.js'
import { isForActiveNode } from './for-active-node.js'

interface AuditedRunOptions {
  readonly audit: AuditBroker
  readonly identity: IdentityStore
  /** True on a performance standby, which does not audit requests that the active node answers. */
  readonly isStandby: boolean
  readonly execute: (request: Request, route: Route) => Promise<Response | undefined>
}

/** Runs requests between their two audit entries. */
export const auditedRun = ({ audit, identity, isStandby, execute }: AuditedRunOptions) => {
  const callerOf = (token: Authorised['token']) => ({
    token,
    identityPolicies: token ? identity.policiesOf(token) : [],
  })
  return {
    /** Audits a request that is rejected, or executed elsewhere. */
    async unexecuted(request: Request, route: Route | undefined, authorised: Authorised): Promise<void> {
      const { token, verdict, failure } = authorised
      if (!audit.isEnabled || (isStandby && isForActiveNode(failure, request))) return
      const entry = { request, mount: route?.mount, ...callerOf(token), verdict, error: failure }
      await audit.logRequest(entry)
      await audit.logResponse({ ...entry, response: undefined })
    },

    async run(request: Request, route: Route, { token, verdict }: Authorised): Promise<Response | undefined> {
      if (!audit.isEnabled || route.rules.isUnaudited) return execute(request, route)
      const entry = { request, mount: route.mount, ...callerOf(token), verdict, error: undefined }
      if (!isStandby) await audit.logRequest(entry)
      const outcome = await execute(request, route).then(
        (response) => ({ response, error: undefined }),
        (error: unknown) => ({ response: undefined, error }),
      )
      if (isStandby) {
        // The request has changed nothing on this node, so the active node can still execute and audit the request.
        if (isForActiveNode(outcome.error, request)) throw outcome.error
        await audit.logRequest(entry)
      }
      await audit.logResponse({ ...entry, ...outcome }).catch((cause: unknown) => {
        const isRecordLost = outcome.error === undefined && isWrite(request.operation) && !isStandby
        throw isRecordLost ? executedUnrecorded(cause) : cause
      })
      if (outcome.error !== undefined) throw outcome.error
      return outcome.response
    },
  }
}

/** Returns the error that replaces the response of an executed request if no audit device has logged the response. */
const executedUnrecorded = (cause: unknown): LogicalError =>
  new LogicalError('internal', 'internal error: the request was executed, but no audit device logged its response', {
    cause,
  })

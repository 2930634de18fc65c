import { definePath, type Handler, type PathSpec } from '../../logical/backend.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import type { FieldTable } from '../../logical/fields.js'
import type { Request } from '../../logical/request.js'
import type { PathContext, ReplicationContext } from '../roles/context.js'
import { GUARDS } from '../model/guard-texts.js'
import { isSecondaryStage, type License } from '../model/machine.js'
import { OPERATION_TOKEN_FIELDS } from './fields.js'
import type { Kind } from '../model/types.js'

/** Throws `LogicalError` if the license does not include this kind of replication. */
export const requireLicense = (license: License, kind: Kind): void => {
  if (license === 'none') throw new LogicalError('not-found', GUARDS.enterpriseOnly)
  if (license === 'plus' && kind === 'dr') throw invalid(GUARDS.drNotLicensed)
}

type DefinePath = <T extends FieldTable>(name: string, fields: T, summary: string, run: Handler<T>) => PathSpec

/** Returns functions that define paths below `prefix`. All these paths require a license that includes the kind. */
export const pathsBelow = (prefix: string, kind: Kind, context: PathContext) => {
  const licensed =
    <T extends FieldTable>(run: Handler<T>): Handler<T> =>
    (call) => {
      requireLicense(context.host.license, kind)
      return run(call)
    }
  /** Defines a write-only path. */
  const write: DefinePath = (name, fields, summary, run) =>
    definePath(`${prefix}/${name}`, fields, summary, { update: licensed(run) })
  /** Defines a read-only path. */
  const read: DefinePath = (name, fields, summary, run) =>
    definePath(`${prefix}/${name}`, fields, summary, { read: licensed(run) })
  /**
   * Defines a write-only path of a DR secondary that accepts an operation token instead of a client token. Checks in
   * this order that the cluster is a DR secondary, that a token is present, and that the token permits the request.
   */
  const writeWithToken: DefinePath = (name, fields, summary, run) =>
    write(name, { ...fields, ...OPERATION_TOKEN_FIELDS }, summary, (call) => {
      requireOperationToken(context, call.request, String(call.values.dr_operation_token))
      return run(call as unknown as Parameters<typeof run>[0])
    })
  return { read, write, writeWithToken }
}

/** Returns true if `token` is a valid operation token, or a batch token whose policies permit this request. */
export const isOperationAllowed = (
  { operationTokens, services }: PathContext,
  token: string,
  request: Request,
): boolean => operationTokens.isGood(token) || services.isBatchTokenAllowed(token, request)

const requireOperationToken = (context: PathContext, request: Request, token: string): void => {
  requireDrSecondary(context)
  if (token === '') throw invalid(GUARDS.missingOperationToken)
  if (!isOperationAllowed(context, token, request)) throw new LogicalError('permission-denied', 'permission denied')
}

export const isDrSecondary = ({ roles }: ReplicationContext): boolean => isSecondaryStage(roles.facts().stages.dr)

export const requireDrSecondary = (context: ReplicationContext): void => {
  if (!isDrSecondary(context)) throw invalid(GUARDS.notSecondary('dr'))
}

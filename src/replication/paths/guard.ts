import type { Call, Handler, PathSpec } from '../../logical/backend.js'
import { definePath } from '../../logical/backend.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import type { FieldTable } from '../../logical/fields.js'
import type { Request, Response } from '../../logical/request.js'
import type { PathContext, ReplicationContext } from '../roles/context.js'
import { GUARDS } from '../model/guard-texts.js'
import { isSecondaryStage, type License } from '../model/machine.js'
import { OPERATION_TOKEN_FIELDS } from './fields.js'
import type { Kind } from '../model/types.js'

type Answer = Response | undefined

/** Throws if the license does not include this kind. */
export const requireLicense = (license: License, kind: Kind): void => {
  if (license === 'none') throw new LogicalError('not-found', GUARDS.enterpriseOnly)
  if (license === 'plus' && kind === 'dr') throw invalid(GUARDS.drNotLicensed)
}

type Run<T extends FieldTable> = (context: PathContext, call: Call<T>) => Answer | Promise<Answer>

const licensed =
  <T extends FieldTable>(kind: Kind, context: PathContext, run: Run<T>): Handler<T> =>
  (call) => {
    requireLicense(context.host.license, kind)
    return run(context, call)
  }

interface KindPath<T extends FieldTable> {
  readonly pattern: string
  /** The kind of replication that the license must include. */
  readonly kind: Kind
  readonly fields: T
  readonly summary: string
}

/** Defines a write-only path. */
export const write = <T extends FieldTable>(
  context: PathContext,
  { pattern, kind, fields, summary }: KindPath<T>,
  run: Run<T>,
): PathSpec => definePath(pattern, fields, summary, { update: licensed(kind, context, run) })

/** Defines a read-only path. */
export const read = <T extends FieldTable>(
  context: PathContext,
  { pattern, kind, fields, summary }: KindPath<T>,
  run: Run<T>,
): PathSpec => definePath(pattern, fields, summary, { read: licensed(kind, context, run) })

type WithToken<T extends FieldTable> = T & typeof OPERATION_TOKEN_FIELDS

interface OperationPath<T extends FieldTable> {
  /** The path below `replication/dr/secondary/`. */
  readonly operation: string
  readonly fields: T
  readonly summary: string
}

/**
 * Defines a path below `replication/dr/secondary/` that accepts an operation token in place of a client token. Checks
 * in this order: the cluster is a DR secondary, a token is present, the token permits the request, and the checks of
 * the operation.
 */
export const writeWithToken = <T extends FieldTable>(
  context: PathContext,
  { operation, fields, summary }: OperationPath<T>,
  run: Run<WithToken<T>>,
): PathSpec => {
  const pattern = `replication/dr/secondary/${operation}`
  const all: WithToken<T> = { ...fields, ...OPERATION_TOKEN_FIELDS }
  return write(context, { pattern, kind: 'dr', fields: all, summary }, (current, call) => {
    requireOperationToken(current, call.request, String(call.values.dr_operation_token))
    return run(current, call)
  })
}

/** Returns true if `token` permits this request: an operation token, or a batch token with the required policy. */
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

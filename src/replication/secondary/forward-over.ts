import { LogicalError } from '../../logical/errors.js'
import { PRIMARY_UNREACHABLE_TEXT } from '../model/guard-texts.js'
import type { PrimaryConnection } from '../rpc/transport.js'
import { refusalCodeOf, refusalError } from '../rpc/refusal.js'
import { parsePeer, toPeerMessage } from '../rpc/peer-identity.js'
import type { ForwardReply } from '../host/services.js'
import type { FollowerOptions } from './follower-options.js'

/**
 * Forwards a request over the connection. Rejects with `outcome unknown` if the request may have been executed and
 * lost.
 */
export const forwardOver = async (
  connection: PrimaryConnection,
  { hooks, times }: Pick<FollowerOptions, 'hooks' | 'times'>,
  payload: Buffer,
  signal: AbortSignal | undefined,
): Promise<ForwardReply> => {
  const request = { who: toPeerMessage(hooks.who()), payload }
  const limits = { timeoutMs: times.forwardingTimeoutMs, ...(signal ? { signal } : {}) }
  try {
    const reply = await connection.call('forward', request, limits)
    const primary = parsePeer(reply.who)
    // The primary may have been overtaken while its response was in transit.
    const objection = hooks.findObjection(primary)
    if (objection !== undefined) throw refusalError('epoch', `${objection}: outcome unknown`)
    return { payload: reply.payload, epochs: primary.epochs }
  } catch (error) {
    if (refusalCodeOf(error) !== undefined) throw error
    throw new LogicalError('unavailable', `${PRIMARY_UNREACHABLE_TEXT}: outcome unknown`, { cause: error })
  }
}

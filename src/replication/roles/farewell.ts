import type { Kind, Refusal } from '../model/types.js'
import { isDormant } from '../model/machine.js'
import type { RoleRecords } from './role-records.js'

interface LeavingPrimary {
  readonly kind: Kind
  readonly roles: RoleRecords
  readonly hasCopies: () => boolean
}

/** The last words of a primary to its secondaries, which may follow another primary of the set from now on. */
export const EPOCH_ENDED: Refusal = {
  ok: false,
  code: 'over',
  text: 'this primary has stepped back, and its epoch has ended',
}

/** Whether a primary that stops has given its role up, and nothing is left that could go on with its epoch. */
export const hasEpochEnded = ({ kind, roles, hasCopies }: LeavingPrimary): boolean =>
  roles.record(kind).mode === 'disabled' || (isDormant(kind, roles.facts()) && !hasCopies())

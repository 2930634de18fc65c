import type { Kind, Refusal } from '../model/types.js'
import { isDormant } from '../model/machine.js'
import type { RoleRecords } from './role-records.js'

interface LeavingPrimary {
  readonly kind: Kind
  readonly roles: RoleRecords
  readonly hasCopies: () => boolean
}

/** The reason that a stopping primary sends to its secondaries, which may then follow another primary of the set. */
export const EPOCH_ENDED: Refusal = {
  ok: false,
  code: 'over',
  text: 'this primary was demoted, and its epoch has ended',
}

/** Returns true if a stopping primary has given up its role, and no copy can continue its epoch. */
export const hasEpochEnded = ({ kind, roles, hasCopies }: LeavingPrimary): boolean =>
  roles.record(kind).mode === 'disabled' || (isDormant(kind, roles.facts()) && !hasCopies())

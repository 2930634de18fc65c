/**
 * The members of external groups. If an auth method reports groups, each login replaces the membership of its entity in
 * the external groups that have an alias on this mount.
 */
import { LIMITS } from '../../base/limits.js'
import type { AliasFactors, Group } from '../../logical/identity.js'
import type { ReadStorage, Transaction } from '../../logical/storage.js'
import { checkMemberCount, GROUPS, membershipOf, replaceGroup, written } from './group-record.js'

/** The mount of a login, and the names of the group aliases that it reports; undefined if it reports none. */
type Reported = Omit<AliasFactors, 'name'> & { readonly groups?: readonly string[] | undefined }

/** Returns whether the entity is in exactly the reported groups. */
export const hasReportedGroups = (reader: ReadStorage, entityId: string, reported: Reported): boolean => {
  const { joined, left } = findChanges(reader, entityId, reported)
  return joined.length === 0 && left.length === 0
}

/** Moves the entity into the reported groups. Throws LogicalError 400 for a group with too many members. */
export const putReportedGroups = (tx: Transaction, entityId: string, reported: Reported, nowMs: number): void => {
  const { joined, left } = findChanges(tx, entityId, reported)
  const put = (group: Group, memberEntityIds: readonly string[]) => {
    const after = written({ ...group, memberEntityIds }, nowMs)
    checkMemberCount(after)
    replaceGroup(tx, group, after)
  }
  for (const group of left) {
    const others = group.memberEntityIds.filter((id) => id !== entityId)
    put(group, others)
  }
  for (const group of joined) put(group, [...group.memberEntityIds, entityId])
}

const NO_CHANGES: { readonly [Change in 'joined' | 'left']: readonly Group[] } = { joined: [], left: [] }

const findChanges = (reader: ReadStorage, entityId: string, { groups, ...mount }: Reported): typeof NO_CHANGES => {
  if (!groups) return NO_CHANGES
  const wanted = new Map<string, Group>()
  for (const name of new Set(groups)) {
    const group = isAliasName(name) ? GROUPS.findByAlias(reader, { ...mount, name }) : undefined
    if (group) wanted.set(group.id, group)
  }
  const { direct } = membershipOf(reader, entityId)
  const current = direct.filter(
    ({ type, aliases }) => type === 'external' && aliases.some((alias) => alias.mountAccessor === mount.mountAccessor),
  )
  const known = new Set(current.map(({ id }) => id))
  return {
    joined: [...wanted.values()].filter(({ id }) => !known.has(id)),
    left: current.filter(({ id }) => !wanted.has(id)),
  }
}

/** Returns whether an alias can have this name. */
export const isAliasName = (name: string): boolean => name !== '' && Buffer.byteLength(name) <= LIMITS.aliasNameBytesMax

/**
 * Stored groups. The record of a group lists its members. Each member has a key that lists the groups that contain it,
 * because requests need the groups of one entity. Both change in the same transaction.
 */
import { LIMITS } from '../../base/limits.js'
import { invalid } from '../../logical/errors.js'
import type { Group, Membership } from '../../logical/identity.js'
import { putJson, readJson, type ReadStorage, type Transaction } from '../../logical/storage.js'
import { RecordTable } from './identity-record.js'

export const GROUPS = new RecordTable<Group>({
  word: 'group',
  indexes: 'group-',
  unknownId: 'invalid group ID',
  parse: (stored) => stored as Group,
})

export const MEMBER_KEYS = {
  members: 'groups-of/',
  /** The IDs of the groups that contain this entity or group directly. */
  member: (id: string) => `groups-of/${id}`,
} as const

const groupIdsOf = (reader: ReadStorage, memberId: string): readonly string[] =>
  readJson<readonly string[]>(reader, MEMBER_KEYS.member(memberId)) ?? []

const groupsWith = (reader: ReadStorage, memberId: string): Group[] =>
  groupIdsOf(reader, memberId)
    .map((id) => GROUPS.read(reader, id))
    .filter((group) => group !== undefined)

/** Returns the groups of an entity or a group. Each group occurs once. */
export const membershipOf = (reader: ReadStorage, memberId: string): Membership => {
  const direct = groupsWith(reader, memberId)
  const found = new Map(direct.map((group) => [group.id, group]))
  // The iteration includes the groups that it adds.
  for (const { id } of found.values()) {
    for (const parent of groupsWith(reader, id)) if (!found.has(parent.id)) found.set(parent.id, parent)
  }
  return { direct, inherited: [...found.values()].slice(direct.length) }
}

const membersOf = (group: Group | undefined): Set<string> =>
  new Set(group ? [...group.memberEntityIds, ...group.memberGroupIds] : [])

/** Replaces a group like `RecordTable.replace`, including the keys of its members. */
export const replaceGroup = (tx: Transaction, before: Group | undefined, after: Group | undefined): void => {
  GROUPS.replace(tx, before, after)
  const groupId = after?.id ?? before?.id ?? ''
  const [had, has] = [membersOf(before), membersOf(after)]
  for (const id of had) if (!has.has(id)) putGroupIds(tx, id, without(groupIdsOf(tx, id), groupId))
  for (const id of has) if (!had.has(id)) putGroupIds(tx, id, withOneMore(id, groupIdsOf(tx, id), groupId))
}

const putGroupIds = (tx: Transaction, memberId: string, groupIds: readonly string[]): void => {
  if (groupIds.length === 0) tx.delete(MEMBER_KEYS.member(memberId))
  else putJson(tx, MEMBER_KEYS.member(memberId), groupIds)
}

const withOneMore = (memberId: string, groupIds: readonly string[], groupId: string): string[] => {
  if (groupIds.length >= LIMITS.groupsOfMemberMax) {
    throw invalid(`${memberId} cannot be a direct member of more than ${LIMITS.groupsOfMemberMax} groups`)
  }
  return [...groupIds, groupId]
}

/** Throws LogicalError 400 if the group has too many members. */
export const checkMemberCount = ({ memberEntityIds, memberGroupIds }: Group): void => {
  const count = memberEntityIds.length + memberGroupIds.length
  if (count > LIMITS.groupMembersMax) {
    throw invalid(`a group can have at most ${LIMITS.groupMembersMax} members, and this one would have ${count}`)
  }
}

/** Removes an entity or a group from all groups that contain it. The entity `successorId`, if any, replaces it. */
export const removeMember = (tx: Transaction, memberId: string, nowMs: number, successorId?: string): void => {
  for (const group of groupsWith(tx, memberId)) {
    const others = without(group.memberEntityIds, memberId)
    const memberEntityIds = successorId ? [...without(others, successorId), successorId] : others
    const memberGroupIds = without(group.memberGroupIds, memberId)
    replaceGroup(tx, group, written({ ...group, memberEntityIds, memberGroupIds }, nowMs))
  }
}

/** Removes a group from its members and from the groups that contain it. */
export const removeGroup = (tx: Transaction, group: Group, nowMs: number): void => {
  removeMember(tx, group.id, nowMs)
  replaceGroup(tx, group, undefined)
}

/** Returns the group as stored by one more write. */
export const written = (group: Group, nowMs: number): Group => ({
  ...group,
  modifyIndex: group.modifyIndex + 1,
  updatedAtMs: nowMs,
})

const without = (ids: readonly string[], gone: string): string[] => ids.filter((id) => id !== gone)

import { KEYS } from '../../src/storage/keys/key-families.js'
import { contentOf } from './judges.js'
import type { Member, World } from './world.js'

/** What clients have stored, when they write no more, by key. */
type Secrets = ReadonlyMap<string, string>

/** Whatever it is told to become, short of a wipe, nobody else's data comes to it. */
export const followsNobody = (world: World, { cluster }: Member): boolean =>
  [...world.roles.of(cluster).possible].every((roles) =>
    [roles.dr, roles.performance].every((stage) => stage === 'disabled' || stage === 'primary'),
  )

export const secretsOf = async (member: Member): Promise<Secrets> =>
  new Map([...(await contentOf(member))].filter(([key]) => key.startsWith(KEYS.secretData)))

/** A change of a role that is no wipe takes nothing of what clients have stored, and adds nothing. */
export const judgeSecrets = async (world: World, member: Member, before: Secrets): Promise<void> => {
  const after = await secretsOf(member)
  for (const key of new Set([...before.keys(), ...after.keys()]))
    if (before.get(key) !== after.get(key)) world.fail(`a change of its role has changed ${key} on ${member.name}`)
}

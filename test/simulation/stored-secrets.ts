import { KEYS } from '../../src/storage/keys/key-families.js'
import { contentOf } from './judges.js'
import type { Member, World } from './world.js'

/** The values that clients have stored, by key, after the last write. */
type Secrets = ReadonlyMap<string, string>

/** Returns true for a cluster that receives no data of another cluster, unless it is wiped. */
export const hasNoPrimary = (world: World, { cluster }: Member): boolean =>
  [...world.roles.of(cluster).possible].every((roles) =>
    [roles.dr, roles.performance].every((stage) => stage === 'disabled' || stage === 'primary'),
  )

export const secretsOf = async (member: Member): Promise<Secrets> =>
  new Map([...(await contentOf(member))].filter(([key]) => key.startsWith(KEYS.secretData)))

/** Checks that a role change without a wipe neither removes nor adds stored values of clients. */
export const judgeSecrets = async (world: World, member: Member, before: Secrets): Promise<void> => {
  const after = await secretsOf(member)
  for (const key of new Set([...before.keys(), ...after.keys()]))
    if (before.get(key) !== after.get(key)) world.fail(`a role change modified ${key} on ${member.name}`)
}

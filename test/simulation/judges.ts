import { findLagBetween } from '../../src/lab/replication.js'
import { listStored, verifyStored } from '../../src/storage/inspect.js'
import type { Registers } from './registers.js'
import type { Link } from './servers.js'
import { readOf, valueIn } from './values.js'
import type { Member, World } from './world.js'

/** Everything is open and every secondary has what its primary has. */
export const judgeLevel = async (world: World, links: readonly Link[]): Promise<void> => {
  for (const member of world.members) await world.open(member)
  for (const { kind, above, below } of links)
    await world.until(`${below.name} is to be level with ${above.name}`, () =>
      findLagBetween(
        () => world.status(above, kind),
        () => world.status(below, kind),
        kind,
      ),
    )
}

/** What was acknowledged is there. */
export const judgeWrites = async (
  world: World,
  member: Member,
  registers: Registers,
  isShown: (path: string) => boolean = () => true,
): Promise<void> => {
  for (const path of registers.paths.filter(isShown)) {
    const wrong = registers.findWrong(path, valueIn(path, await world.read(member, readOf(path))))
    if (wrong) world.fail(`${member.name} has lost a write: ${wrong}`)
  }
}

/** The log is whole, and the trees say what is stored. */
export const judgeStorage = async (world: World, { name, cluster }: Member): Promise<void> => {
  const host = cluster.server?.host
  if (!host) world.fail(`${name} does not run`)
  const found = await verifyStored(host.engine)
  if (!found.isSound)
    world.fail(
      `the storage of ${name} is not sound: ${found.logProblem ?? ''} ${found.damage.join(', ')} ` +
        `${found.corruptPages.replicated.size} and ${found.corruptPages.local.size} pages of the trees are wrong`,
    )
}

/** A copy for disaster recovery stores the very same bytes, but for what never leaves a cluster. */
export const judgeCopy = async (world: World, above: Member, below: Member): Promise<void> => {
  const [ours, theirs] = await Promise.all([contentOf(above), contentOf(below)])
  for (const [key, digest] of ours)
    if (theirs.get(key) !== digest) world.fail(`${below.name} has another value of ${key} than ${above.name}`)
  for (const key of theirs.keys()) if (!ours.has(key)) world.fail(`${below.name} has ${key}, and ${above.name} has not`)
}

const contentOf = async ({ cluster, name }: Member): Promise<Map<string, string>> => {
  const engine = cluster.server?.host.engine
  if (!engine) throw new Error(`${name} does not run`)
  const content = new Map<string, string>()
  for await (const { category, key, sha256 } of listStored(engine)) if (category !== 'ignored') content.set(key, sha256)
  return content
}

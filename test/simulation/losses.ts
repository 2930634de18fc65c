import type { Loss } from '../../src/replication/roles/losses.js'
import { isStoredAt, readOf, valueIn } from './values.js'
import type { Registers } from './registers.js'
import type { Member, World } from './world.js'

/** Everything that clusters have listed as lost. A cluster that is wiped forgets its lists, so they are looked at often. */
export class Losses {
  readonly #lists = new Map<string, Loss>()

  async collect(world: World, { name, cluster }: Member): Promise<void> {
    const replication = cluster.server?.runtime?.cluster?.replication.replication
    for (const loss of (await replication?.losses()) ?? []) {
      world.history.tell(name, () => `lists as lost: ${loss.reason}: ${loss.entries.map(({ path }) => path).join(' ')}`)
      this.#lists.set(`${name} ${loss.epoch} ${loss.firstIndex}`, loss)
    }
  }

  /** Some list says that it does not have everything. */
  get isIncomplete(): boolean {
    return [...this.#lists.values()].some(
      ({ reason, entriesBeyond = 0 }) => entriesBeyond > 0 || /not complete|incomplete/.test(reason),
    )
  }

  /** Whether a list has the value at a path such as `one/a`. */
  names(path: string): boolean {
    return [...this.#lists.values()].some(({ entries }) => entries.some((entry) => isStoredAt(path, entry.path)))
  }
}

/** What was acknowledged and is not there any more since a failover is on a list. */
export const judgeLosses = async (
  world: World,
  member: Member,
  registers: Registers,
  losses: Losses,
): Promise<void> => {
  for (const other of world.members) await losses.collect(world, other)
  if (losses.isIncomplete) return
  for (const path of registers.paths) {
    const found = valueIn(path, await world.read(member, readOf(path)))
    if (registers.isLost(path, found) && !losses.names(path))
      world.fail(`${member.name} has lost a write that no list names: ${path} holds ${found}`)
  }
}

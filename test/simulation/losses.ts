import type { Loss } from '../../src/replication/roles/losses.js'
import { isStoredAt, readOf, valueIn } from './values.js'
import type { Registers } from './registers.js'
import type { Member, World } from './world.js'

/**
 * All entries that clusters list as lost. A wiped cluster deletes its lists, so they are read often, and kept by
 * generation. Within a generation only the last reading counts, because a comparison removes entries from a list.
 */
export class Losses {
  readonly #lists = new Map<string, readonly Loss[]>()

  async collect(world: World, { name, cluster }: Member): Promise<void> {
    const { server } = cluster
    const losses = await server?.runtime?.cluster?.replication.replication.losses()
    if (!server || !losses) return
    for (const { reason, entries } of losses)
      world.history.tell(name, () => `lists as lost: ${reason}: ${entries.map(({ path }) => path).join(' ')}`)
    this.#lists.set(`${name} ${server.host.storageGeneration}`, losses)
  }

  /** True if some list states that it is incomplete. */
  get isIncomplete(): boolean {
    return this.#all.some(
      ({ reason, entriesBeyond = 0 }) => entriesBeyond > 0 || /not complete|incomplete/.test(reason),
    )
  }

  /** Returns true if a list names the value at a path such as `one/a`. */
  names(path: string): boolean {
    return this.#all.some(({ entries }) => entries.some((entry) => isStoredAt(path, entry.path)))
  }

  get #all(): readonly Loss[] {
    return [...this.#lists.values()].flat()
  }
}

/** Checks that every acknowledged value that a failover lost is on a list. */
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

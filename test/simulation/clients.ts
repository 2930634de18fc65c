import { Chance } from '../../src/server/simulated/chance.js'
import { isFilterable } from './filters.js'
import type { Registers } from './registers.js'
import type { Servers } from './servers.js'
import { PATH_KINDS, readOf, valueIn, writeOf } from './values.js'
import type { Member, World } from './world.js'

const KEYS_EACH = 4

interface ClientOptions {
  readonly index: number
  readonly endMs: number
  readonly servers: Servers
}

/** A client that writes values of its own and reads them back, until the time is over. */
export const runClient = async (
  world: World,
  registers: Registers,
  { index, endMs, servers }: ClientOptions,
): Promise<void> => {
  const { clock, plan } = world
  const chance = new Chance(`${plan.seed} client ${index}`)
  for (let serial = 0; clock.monotonic() < endMs; serial++) {
    await clock.sleep(chance.next() * plan.clientPauseMsMax)
    const path = `${chance.pick(PATH_KINDS)}/c${index}-${chance.below(KEYS_EACH)}`
    const what = chance.weighed({ put: 6, delete: 1, get: 3 })
    const server = chance.happens(0.6) ? servers.primary : (servers.secondary ?? servers.primary)
    const isForwarded = server === servers.secondary
    const value = what === 'put' ? `${path} ${serial}` : undefined
    await world.act(`client ${index} ${what}`, () =>
      what === 'get'
        ? readBack(world, registers, { servers, server, path, isBehind: isForwarded })
        : change(world, registers, { servers, server, path, isForwarded, value }),
    )
  }
}

interface Change {
  readonly servers: Servers
  readonly server: Member
  readonly path: string
  readonly value: string | undefined
  readonly isForwarded: boolean
}

const change = async (
  world: World,
  registers: Registers,
  { servers, server, path, value, isForwarded }: Change,
): Promise<void> => {
  const { term } = servers
  const detachCount = servers.detachCount(server)
  registers.begin(path, value)
  const answer = await world.call(server, writeOf(path, value))
  const isSure = term === servers.term && servers.isSureOf(server)
  const isUnreplicated = servers.isDetached(server) || servers.detachCount(server) !== detachCount
  if (answer && answer.status < 300 && !isUnreplicated) registers.acknowledged(path, value, isSure)
  // The write may still be in progress between nodes, or on its way to another cluster.
  else if (isForwarded || server.cluster.hasNodes || isUnreplicated) registers.markUnknown(path, value)
}

const readBack = async (
  world: World,
  registers: Registers,
  { servers, server, path, isBehind }: { servers: Servers; server: Member; path: string; isBehind: boolean },
): Promise<void> => {
  const answer = await world.call(server, readOf(path))
  if (answer?.status !== 200 && answer?.status !== 404) return
  if (answer.status === 404 && isBehind && isFilterable(path)) return
  if (servers.isDetached(server)) return
  const found = valueIn(path, answer)
  const wrong =
    registers.findOlder(server.name, path, found) ?? (isBehind ? undefined : registers.findWrong(path, found))
  if (wrong) world.fail(`${server.name} returned an impossible value: ${wrong}`)
}

import { Chance } from './chance.js'
import type { Registers } from './registers.js'
import { PLACE_NAMES, readOf, valueIn, writeOf } from './values.js'
import type { Member, World } from './world.js'

const KEYS_EACH = 4

/** The clusters that serve clients: that which decides, and that which follows it and asks it. */
export interface Servers {
  readonly primary: Member
  /** Undefined where it serves nobody. */
  readonly secondary: Member | undefined
}

interface ClientOptions {
  readonly index: number
  readonly endMs: number
  readonly servers: Servers
}

/** One that writes values nobody else writes, and reads them back, until the time is over. */
export const runClient = async (
  world: World,
  registers: Registers,
  { index, endMs, servers }: ClientOptions,
): Promise<void> => {
  const { clock, plan } = world
  const chance = new Chance(`${plan.seed} client ${index}`)
  for (let serial = 0; clock.monotonic() < endMs; serial++) {
    await clock.sleep(chance.next() * plan.clientPauseMsMax)
    const path = `${chance.pick(PLACE_NAMES)}/c${index}-${chance.below(KEYS_EACH)}`
    const what = chance.weighed({ put: 6, delete: 1, get: 3 })
    const server = chance.happens(0.6) ? servers.primary : (servers.secondary ?? servers.primary)
    const isForwarded = server === servers.secondary
    if (what === 'get') await readBack(world, registers, { server, path, isBehind: isForwarded })
    else
      await change(world, registers, {
        server,
        path,
        isForwarded,
        value: what === 'put' ? `${path} ${serial}` : undefined,
      })
  }
}

const change = async (
  world: World,
  registers: Registers,
  {
    server,
    path,
    value,
    isForwarded,
  }: { server: Member; path: string; value: string | undefined; isForwarded: boolean },
): Promise<void> => {
  registers.begin(path, value)
  const answer = await world.call(server, writeOf(path, value))
  if (answer && answer.status < 300) registers.acknowledged(path, value)
  else if (isForwarded) registers.lostSight(path, value)
}

const readBack = async (
  world: World,
  registers: Registers,
  { server, path, isBehind }: { server: Member; path: string; isBehind: boolean },
): Promise<void> => {
  const answer = await world.call(server, readOf(path))
  if (answer?.status !== 200 && (answer?.status !== 404 || isBehind)) return
  const found = valueIn(path, answer)
  const wrong =
    registers.findOlder(server.name, path, found) ?? (isBehind ? undefined : registers.findWrong(path, found))
  if (wrong) world.fail(`${server.name} shows a client what cannot be: ${wrong}`)
}

import { Chance } from './chance.js'
import { deleteKv, getKv, putKv, storedValue } from './kv.js'
import type { Registers } from './registers.js'
import type { Member, World } from './world.js'

const KEYS_EACH = 4

/** One that writes values nobody else writes, and reads them back, until the time is over. */
export const runClient = async (
  world: World,
  registers: Registers,
  { index, endMs, findServer }: { index: number; endMs: number; findServer: () => Member },
): Promise<void> => {
  const { clock, plan } = world
  const chance = new Chance(`${plan.seed} client ${index}`)
  for (let serial = 0; clock.monotonic() < endMs; serial++) {
    await clock.sleep(chance.next() * plan.clientPauseMsMax)
    const path = `${chance.pick(['one', 'two'])}/c${index}-${chance.below(KEYS_EACH)}`
    const what = chance.weighed({ put: 6, delete: 1, get: 3 })
    const server = findServer()
    if (what === 'get') await readBack(world, registers, server, path)
    else await change(world, registers, server, { path, value: what === 'put' ? `${path} ${serial}` : undefined })
  }
}

const change = async (
  world: World,
  registers: Registers,
  server: Member,
  { path, value }: { path: string; value: string | undefined },
): Promise<void> => {
  // What nobody has answered yet may be done at any moment.
  registers.unknown(path, value)
  const answer = await world.call(server, value === undefined ? deleteKv(path) : putKv(path, value))
  if (answer && answer.status < 300) registers.acknowledged(path, value)
}

const readBack = async (world: World, registers: Registers, server: Member, path: string): Promise<void> => {
  const answer = await world.call(server, getKv(path))
  if (answer?.status !== 200 && answer?.status !== 404) return
  const wrong = registers.findWrong(path, storedValue(answer))
  if (wrong) world.fail(`${server.name} shows a client what cannot be: ${wrong}`)
}

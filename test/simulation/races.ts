import { Chance } from '../../src/server/simulated/chance.js'
import type { Answer } from '../../src/server/simulated/calls.js'
import type { Servers } from './servers.js'
import type { World } from './world.js'

const PAUSE_TIMES = 6
const RACERS = 3
const SECRETS = 2

const isSuccess = (answer: Answer | undefined): boolean => answer !== undefined && answer.status < 300
const versionIn = (answer: Answer | undefined): number =>
  Number((answer?.json.data as { readonly version?: unknown } | undefined)?.version)

/**
 * Several clients check and set the same secret at the same time, on all clusters. At most one of those with the same
 * version may succeed.
 */
export const runRaces = async (
  world: World,
  { servers, endMs }: { readonly servers: Servers; readonly endMs: number },
): Promise<void> => {
  const { clock, plan } = world
  const chance = new Chance(`${plan.seed} races`)
  while (clock.monotonic() < endMs) {
    await clock.sleep(chance.next() * plan.clientPauseMsMax * PAUSE_TIMES)
    const name = `race-${chance.below(SECRETS)}`
    await world.act('race', () => race(world, chance, servers, name))
  }
}

const race = async (world: World, chance: Chance, servers: Servers, name: string): Promise<void> => {
  const { term, isSettled } = servers
  const metadata = await world.call(servers.primary, { method: 'GET', path: `two/metadata/${name}` })
  if (metadata?.status !== 200 && metadata?.status !== 404) return
  const data = metadata.json.data as { readonly current_version: number } | undefined
  const cas = metadata.status === 404 ? 0 : (data?.current_version ?? 0)
  const racers = Array.from({ length: RACERS }, (_, index) =>
    world.call(chance.pick(servers.serving), {
      method: 'PUT',
      path: `two/data/${name}`,
      body: { data: { value: `${index}` }, options: { cas } },
    }),
  )
  const won = (await Promise.all(racers)).filter(isSuccess)
  // A failover that lost a version gives its number to another version.
  if (!isSettled || term !== servers.term) return
  if (won.length > 1) world.fail(`${won.length} writes with version ${cas} of ${name} succeeded`)
  for (const answer of won)
    if (versionIn(answer) !== cas + 1) world.fail(`${name} has version ${versionIn(answer)} right after ${cas}`)
}

import { runClient, type Servers } from './clients.js'
import { Credentials, judgeCredentials, runCredentials } from './credentials.js'
import { endFaults, runFaults } from './faults.js'
import { judgeFilter, runFilters } from './filters.js'
import { judgeCopy, judgeLevel, judgeStorage, judgeWrites } from './judges.js'
import { Registers } from './registers.js'
import { judgeRevocation } from './revocation.js'
import { furnish, initialiseAll, join } from './set-up.js'
import type { World } from './world.js'

/** From new clusters to the last judgement. */
export const play = async (world: World): Promise<void> => {
  const { kind } = world.plan
  const [above, below] = [world.member('A'), world.member('B')]
  await initialiseAll(world)
  await furnish(world, above)
  await join(world, kind, above, below)
  const registers = new Registers()
  const credentials = new Credentials()
  const servers: Servers = { primary: above, secondary: kind === 'performance' ? below : undefined }
  await act(world, servers, registers, credentials)
  await endFaults(world)
  await judgeLevel(world, [{ kind, above, below }])
  await judgeWrites(world, above, registers)
  await judgeCredentials(world, credentials)
  if (servers.secondary) await judgeFilter(world, { primary: above, secondary: below }, registers)
  else await judgeCopy(world, above, below)
  for (const member of world.members) await judgeStorage(world, member)
  await judgeRevocation(world, kind, above, below)
}

/** Everybody at once, until the time is over. */
const act = async (world: World, servers: Servers, registers: Registers, credentials: Credentials): Promise<void> => {
  const { clock, plan } = world
  const endMs = clock.monotonic() + plan.activeMs
  const { primary, secondary } = servers
  const clients = Array.from({ length: plan.clients }, (_, index) =>
    runClient(world, registers, { index, endMs, servers }),
  )
  await Promise.all([
    ...clients,
    runCredentials(world, credentials, { endMs, servers }),
    ...(secondary ? [runFilters(world, { primary, secondary }, endMs)] : []),
    runFaults(world, endMs),
  ])
}

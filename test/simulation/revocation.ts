import type { Kind } from '../../src/lab/model/kinds.js'
import { writeOf } from './values.js'
import type { Link } from './servers.js'
import type { Member, World } from './world.js'

const WRITES = 3
/** Long enough for all messages in flight. */
const SETTLE_MS = 500
const WATCHED_MS = 10_000

/** Checks that a revoked secondary receives no data written after the revocation. */
export const judgeRevocation = async (world: World, { kind, above, below }: Link): Promise<void> => {
  const body = { id: below.name.toLowerCase() }
  const path = `sys/replication/${kind}/primary/revoke-secondary`
  await world.until('the secondary is to be revoked', async () => {
    const answer = await world.call(above, { method: 'PUT', path, body })
    return answer && answer.status < 300 ? undefined : `the answer is ${answer?.status}`
  })
  await world.clock.sleep(SETTLE_MS)
  const before = await lastRemoteWal(world, kind, below)
  for (let serial = 0; serial < WRITES; serial++) await world.demand(above, writeOf('one/after', `${serial}`))
  await world.clock.sleep(WATCHED_MS)
  const after = await lastRemoteWal(world, kind, below)
  if (after > before) world.fail(`${below.name} was revoked and received the entries from ${before} to ${after}`)
}

const lastRemoteWal = async (world: World, kind: Kind, secondary: Member): Promise<number> =>
  Number((await world.status(secondary, kind)).last_remote_wal)

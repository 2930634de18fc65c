import { becomePrimary, fillForReads, follow, mountEngines, setUpAppRole, worksOf } from '../clusters.js'
import { canTrace, countSyncs } from '../machine.js'
import type { BenchServer } from '../servers.js'
import type { Bench } from './context.js'
import { Yardsticks } from './yardsticks.js'

const CONNECTIONS = 64

/** Figures 1 to 6: throughput against what the platform can do, every part measured in every round. */
export const measureRatios = async (bench: Bench): Promise<undefined> => {
  const { generator, seconds } = bench
  const yardsticks = new Yardsticks(generator, bench.dist)
  try {
    const single = await bench.server('single')
    const primary = await bench.server('primary')
    const secondary = await bench.server('secondary')
    for (const server of [single, primary]) await mountEngines(server)
    await becomePrimary(primary)
    await follow(primary, secondary)
    await fillForReads(single)
    const works = worksOf(single, await setUpAppRole(single))
    const paired = { ...works['KV v1 write'], port: primary.apiPort, headers: { 'X-Vault-Token': primary.rootToken } }
    await assertDurable(bench, single, () => generator.load(works['KV v1 write'], CONNECTIONS, 1))
    for (let round = 1; round <= bench.rounds; round++) {
      const g = await yardsticks.rawCommits(CONNECTIONS, seconds)
      const h = await yardsticks.bareHttp(CONNECTIONS, seconds)
      const k = 1 / (1 / g + 1 / h)
      const rate = async (work: (typeof works)[keyof typeof works], connections = CONNECTIONS) =>
        (await generator.load(work, connections, seconds)).rate
      const front = await yardsticks.front(CONNECTIONS, seconds)
      const reads = await rate(works['KV v1 read'])
      const writes = await rate(works['KV v1 write'])
      const logins = await rate(works['AppRole login, service'])
      const replicated = await rate(paired)
      const oneRaw = await yardsticks.rawCommits(1, seconds)
      const one = await rate(works['KV v1 write'], 1)
      bench.add('1', replicated / k)
      bench.add('2', writes / k)
      bench.add('3', one / oneRaw)
      bench.add('4', front / h)
      bench.add('5', reads / h)
      bench.add('6', logins / writes)
      const named = {
        G: g,
        H: h,
        K: k,
        'raw commit, one writer': oneRaw,
        front,
        replicated,
        writes,
        one,
        reads,
        logins,
      }
      for (const [name, value] of Object.entries(named)) bench.note(name, value, '/s')
      bench.say(
        `round ${round}: ${Object.entries(named)
          .map(([name, value]) => `${name} ${Math.round(value)}`)
          .join(', ')}`,
      )
    }
  } finally {
    yardsticks.close()
  }
  return undefined
}

/**
 * Speed never comes from dropped durability: while durable answers are given the server must sync, and no commit may carry
 * more answers than there are connections.
 */
const assertDurable = async (
  bench: Bench,
  server: BenchServer,
  load: () => Promise<{ answers: number; rate: number }>,
): Promise<void> => {
  if (server.log.includes('sync_writes is off')) throw new Error('the server does not sync its writes')
  if (!canTrace()) {
    bench.say('durability: sync_writes is on; strace is not here to count the calls')
    return
  }
  let answers = 0
  const syncs = await countSyncs(server.pid, async () => {
    answers = (await load()).answers
  })
  bench.note('answers a sync (traced)', answers / syncs, '')
  if (syncs === 0 || answers / syncs > CONNECTIONS) {
    throw new Error(`${answers} durable answers were given with ${syncs} syncs`)
  }
  bench.say(`durability: ${answers} answers, ${syncs} syncs, ${(answers / syncs).toFixed(1)} answers a commit`)
}

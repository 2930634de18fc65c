import { afterEach, expect, it } from 'vitest'
import { createSeededRandom } from '../../src/base/random.js'
import { operationToken } from '../support/ceremony.js'
import { type Cluster, Clusters } from '../support/clusters.js'
import { type Drill, drill } from '../support/drill.js'
import { WriteLoad } from '../support/load.js'
import { infoOf, lossesOf } from '../support/own-endpoints.js'
import { soakRounds, soakSeed, soakTimeoutMs } from '../support/soak.js'

/**
 * The primary is lost under load several times, and its copy is promoted with force. When the old primary rejoins, its
 * list contains exactly the acknowledged writes that the new primary does not have.
 */

const ROUNDS = soakRounds(4)
const WRITERS = 4

let clusters: Clusters
afterEach(() => clusters.close())

/** How the primary is lost: it crashes, or only its clients can reach it. */
const LOSSES = ['crash', 'partition'] as const

const loadOn = (cluster: Cluster, folder: string): WriteLoad =>
  new WriteLoad({
    client: cluster.client,
    writers: WRITERS,
    pathOf: (n) => `kv/${folder}/${n}`,
    bodyOf: (n) => ({ value: n }),
  })

const keysIn = async (cluster: Cluster, folder: string): Promise<ReadonlySet<string>> => {
  const answer = await cluster.client.send('LIST', `kv/${folder}`)
  const { keys = [] } = (answer.json?.data ?? {}) as { keys?: string[] }
  return new Set(keys)
}

const acknowledged = (cluster: Cluster, load: WriteLoad, atLeast: number) =>
  cluster.until('acknowledge writes', async () => (load.acknowledged.size >= atLeast ? undefined : 'too few'))

/**
 * Fails over while some writes have not reached the new primary. Resolves to the writes that the old primary
 * acknowledged.
 */
const failOver = async (
  on: Drill,
  how: (typeof LOSSES)[number],
  count: number,
  from: Cluster,
  to: Cluster,
  folder: string,
): Promise<WriteLoad> => {
  const load = loadOn(from, folder)
  load.start()
  await acknowledged(from, load, count)
  from.link.partition()
  await acknowledged(from, load, load.acknowledged.size + count)
  if (how === 'crash') await from.server.crash()
  await load.stop()
  const { rootToken } = from
  const promote = { dr_operation_token: await operationToken(to), force: true }
  await on.change(to, 'dr/secondary/promote', promote, 'is being promoted')
  to.seal = { ...to.seal, rootToken }
  await to.untilServes()
  return load
}

const rejoin = async (on: Drill, how: (typeof LOSSES)[number], from: Cluster, to: Cluster, id: string) => {
  from.link.clearFaults()
  if (how === 'crash') await from.reopen()
  await on.wait(from, 'to be fenced', async () => ((await infoOf(on, from)).fenced ? undefined : 'it is not fenced'))
  await on.change(from, 'dr/primary/demote', {}, 'is being demoted')
  const update = { token: await on.token(to, 'dr', id), dr_operation_token: await operationToken(from) }
  await on.change(from, 'dr/secondary/update-primary', update, 'successfully')
  from.seal = { ...from.seal, rootToken: '' }
  await clusters.untilReplicated(to, from, 'dr')
}

/** Returns the writes in the folder that the cluster lists as lost. */
const listed = async (on: Drill, cluster: Cluster, folder: string): Promise<readonly string[]> => {
  const start = `kv/data/${folder}/`
  const entries = (await lossesOf(on, cluster)).flatMap((loss) => loss.entries)
  return entries.filter(({ path }) => path.startsWith(start)).map(({ path }) => path.slice(start.length))
}

it(
  'the list of losses of a forced failover under load is exact',
  () =>
    drill(`${ROUNDS} forced failovers`, async (on) => {
      const seed = soakSeed()
      const random = createSeededRandom(seed)
      on.note(`seed ${seed}`)
      clusters = new Clusters()
      let from = await clusters.add('A', { hasLink: true })
      let to = await clusters.add('B', { hasLink: true })
      await from.client.write('sys/mounts/kv', { type: 'kv' })
      await clusters.join(from, to, 'dr', 'first')
      const total = { acknowledged: 0, lost: 0, unanswered: 0 }
      for (let round = 1; round <= ROUNDS; round++) {
        const folder = `r${round}`
        const [first = 0, second = 0] = random.bytes(2)
        const how = LOSSES[first % LOSSES.length] ?? 'crash'
        const load = await failOver(on, how, 5 + (second % 20), from, to, folder)
        const stored = await keysIn(to, folder)
        await rejoin(on, how, from, to, `${from.name}-${folder}`)
        const told = [...load.acknowledged].map(String)
        const truth = told.filter((key) => !stored.has(key))
        const found = await listed(on, from, folder)
        expect(new Set(found).size, `round ${round}: nothing twice`).toBe(found.length)
        // Writes that were stored without a response were lost as well, and are listed too.
        const isTold = new Set(told)
        expect(found.filter((key) => isTold.has(key)).sort(), `round ${round}, ${how}`).toEqual(truth.sort())
        expect(
          found.filter((key) => stored.has(key)),
          `round ${round}: listed and there`,
        ).toEqual([])
        expect(truth.length, `round ${round}: something was lost`).toBeGreaterThan(0)
        total.acknowledged += told.length
        total.lost += truth.length
        total.unanswered += found.length - truth.length
        ;[from, to] = [to, from]
      }
      on.note(
        `${ROUNDS} failovers: ${total.acknowledged} acknowledged, ${total.lost} lost, all of them listed, ` +
          `and ${total.unanswered} that were never answered`,
      )
    }),
  soakTimeoutMs(ROUNDS),
)

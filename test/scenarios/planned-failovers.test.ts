import { afterEach, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import type { Kind } from '../../src/lab/model/kinds.js'
import { operationToken } from '../support/ceremony.js'
import { type Cluster, Clusters } from '../support/clusters.js'
import { type Drill, drill } from '../support/drill.js'
import { WriteLoad } from '../support/load.js'
import { lossesOf } from '../support/own-endpoints.js'
import { soakRounds, soakTimeoutMs } from '../support/soak.js'

/** Primary and secondary exchange their roles repeatedly while clients write. No acknowledged write may be missing. */

const ROUNDS = soakRounds(6)
const KINDS: readonly Kind[] = ['dr', 'performance']
const WRITERS = 4

let clusters: Clusters
afterEach(() => clusters.close())

const authority = async (cluster: Cluster, kind: Kind): Promise<object> =>
  kind === 'dr' ? { dr_operation_token: await operationToken(cluster) } : {}

const loadOn = (cluster: Cluster, folder: string): WriteLoad =>
  new WriteLoad({
    client: cluster.client,
    writers: WRITERS,
    pathOf: (n) => `kv/${folder}/${cluster.name}-${n}`,
    bodyOf: (n) => ({ value: n }),
  })

const keysOf = async (cluster: Cluster, folder: string, below: string): Promise<string[]> => {
  const answer = await cluster.client.send('LIST', `kv/${folder}/${below}`)
  const { keys = [] } = (answer.json?.data ?? {}) as { keys?: string[] }
  return keys.map((key) => below + key)
}

/** Returns the acknowledged writes that are missing. */
const findMissing = async (cluster: Cluster, folder: string, written: Iterable<string>): Promise<string[]> => {
  const stored = new Set(await keysOf(cluster, folder, ''))
  for (const key of await keysOf(cluster, folder, 'forwarded/')) stored.add(key)
  return [...written].filter((key) => !stored.has(key))
}

/** Exchanges the roles once under load. Resolves to the duration of the demotion. */
const exchange = async (on: Drill, kind: Kind, from: Cluster, to: Cluster, folder: string) => {
  const old = loadOn(from, folder)
  // A performance secondary forwards writes to its primary, even to one that is being demoted.
  const forwarded = kind === 'performance' ? loadOn(to, `${folder}/forwarded`) : undefined
  old.start()
  forwarded?.start()
  await from.until('acknowledge writes', async () => (old.acknowledged.size >= 20 ? undefined : 'too few'))
  const startedMs = systemClock.monotonic()
  const demoted = await on.change(from, `${kind}/primary/demote`, {}, 'is being demoted')
  const demotedMs = systemClock.monotonic() - startedMs
  expect(demoted.warnings.filter((text) => text.includes('has not applied'))).toEqual([])
  const rootToken = from.rootToken
  await on.change(to, `${kind}/secondary/promote`, await authority(to, kind), 'is being promoted')
  if (kind === 'dr') {
    to.seal = { ...to.seal, rootToken }
    from.seal = { ...from.seal, rootToken: '' }
  }
  const fresh = loadOn(to, folder)
  fresh.start()
  await to.until('acknowledge writes', async () => (fresh.acknowledged.size >= 20 ? undefined : 'too few'))
  const token = await on.token(to, kind, `${from.name}-${folder}`)
  await on.change(from, `${kind}/secondary/update-primary`, { token, ...(await authority(from, kind)) }, 'successfully')
  await old.stop()
  await fresh.stop()
  await forwarded?.stop()
  await clusters.untilReplicated(to, from, kind)
  const written = [
    ...[...old.acknowledged].map((n) => `${from.name}-${n}`),
    ...[...fresh.acknowledged].map((n) => `${to.name}-${n}`),
    ...[...(forwarded?.acknowledged ?? [])].map((n) => `forwarded/${to.name}-${n}`),
  ]
  return { demotedMs, written }
}

it.each(KINDS)(
  'planned failovers under load lose nothing that was acknowledged (%s)',
  (kind) =>
    drill(`${ROUNDS} planned failovers, ${kind}`, async (on) => {
      clusters = new Clusters()
      let from = await clusters.add('A')
      let to = await clusters.add('B')
      await from.client.write('sys/mounts/kv', { type: 'kv' })
      await clusters.join(from, to, kind, 'first')
      const all = new Map<string, readonly string[]>()
      let slowestMs = 0
      for (let round = 1; round <= ROUNDS; round++) {
        const folder = `r${round}`
        const { demotedMs, written } = await exchange(on, kind, from, to, folder)
        ;[from, to] = [to, from]
        slowestMs = Math.max(slowestMs, demotedMs)
        all.set(folder, written)
        expect(await findMissing(from, folder, written), `round ${round}`).toEqual([])
      }
      for (const [folder, written] of all) expect(await findMissing(from, folder, written), folder).toEqual([])
      for (const cluster of [from, to]) expect(await lossesOf(on, cluster)).toEqual([])
      const count = [...all.values()].reduce((sum, { length }) => sum + length, 0)
      on.note(`${ROUNDS} failovers, ${count} acknowledged, 0 lost; slowest demotion ${Math.round(slowestMs)} ms`)
    }),
  soakTimeoutMs(ROUNDS),
)

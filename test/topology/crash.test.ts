import { beforeAll, expect, inject, it } from 'vitest'
import type { Kind } from '../../src/lab/model/kinds.js'
import { type Cluster, openClusters } from '../support/clusters.js'
import { forEachOf, WriteLoad } from '../support/load.js'

/** Acknowledged writes survive a SIGKILL of any cluster on both sides of a link. */
const ROUNDS = inject('level') === 'nightly' ? 20 : 4
const WRITES_PER_ROUND = 1000
const WRITERS = 24
const READERS = 24

const clusters = openClusters()
let primary: Cluster
let copy: Cluster
let reader: Cluster

beforeAll(async () => {
  primary = await clusters.add('A')
  copy = await clusters.add('B')
  reader = await clusters.add('C')
  await primary.client.write('sys/mounts/load', { type: 'kv', options: { version: '1' } })
  await clusters.join(primary, reader, 'performance')
  await clusters.join(primary, copy, 'dr')
})

const pathOf = (index: number) => `load/${index % 64}/${index}`
const textOf = (index: number) => `value of write ${index}`

it(`no acknowledged write is lost in ${ROUNDS} kills under load`, async () => {
  const load = new WriteLoad({
    client: primary.client,
    writers: WRITERS,
    pathOf,
    bodyOf: (index) => ({ value: textOf(index) }),
  })
  const links: readonly (readonly [Kind, Cluster])[] = [
    ['dr', copy],
    ['performance', reader],
  ]
  const candidates = [primary, copy, primary, reader]
  const kills = new Map<string, number>()
  for (let round = 0; round < ROUNDS; round++) {
    const killed = candidates[round % candidates.length] ?? primary
    const target = load.acknowledged.size + WRITES_PER_ROUND
    load.start()
    await killed.until(`${WRITES_PER_ROUND} writes of round ${round}`, async () =>
      load.acknowledged.size >= target ? undefined : `${target - load.acknowledged.size} are missing`,
    )
    await killed.server.crash()
    await load.stop()
    kills.set(killed.name, (kills.get(killed.name) ?? 0) + 1)
    await killed.reopen()
    for (const [kind, secondary] of links) await clusters.untilReplicated(primary, secondary, kind)
    if (killed === primary) await expectAllOn(primary, [...load.acknowledged].slice(-WRITES_PER_ROUND))
  }
  expect(load.acknowledged.size).toBeGreaterThanOrEqual(ROUNDS * WRITES_PER_ROUND)
  await expectAllOn(primary, load.acknowledged)
  await expectAllOn(reader, load.acknowledged)
  const refused = [...load.refusals].map(([outcome, count]) => `${count} ${outcome}`).join(', ')
  console.log(
    `${load.acknowledged.size} writes acknowledged, ${refused} not; kills: ` +
      `${[...kills].map(([name, count]) => `${name} ${count}`).join(', ')}; all acknowledged are readable on A and C`,
  )
})

const expectAllOn = async ({ name, client }: Cluster, indexes: Iterable<number>): Promise<void> => {
  const lost: string[] = []
  await forEachOf(indexes, READERS, async (index) => {
    const answer = await client.send('GET', pathOf(index))
    const value = (answer.json?.data as { value?: unknown } | null | undefined)?.value
    if (value !== textOf(index)) lost.push(`${index} (${answer.status})`)
  })
  expect(lost, `writes lost on ${name}`).toEqual([])
}

import { expect, it } from 'vitest'
import { LogicalError } from '../../../src/logical/errors.js'
import { LeadershipLost, OutcomeUnknown } from '../../../src/storage/shared-log/shared-log.js'
import { contentOf, NodeWorld, TestNode } from '../../unit/storage/node-world.js'

const STEPS = 300
const ROUNDS = 12
/**
 * Seeds that failed before: a node was elected and had to follow before it led, a suspended node was killed, and the rest of a
 * lease was shorter than the resolution of the clock.
 */
const FAILED_SEEDS = [2_759_900_539, 2_568_228_905, 1_488_872_609]
const COUNTER = 'logical/counter'

/** Returns a generator of pseudorandom numbers below a bound. */
const randomNumbers = (seed: number): ((below: number) => number) => {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** The known outcomes of writes. */
interface Outcomes {
  readonly acknowledged: Set<string>
  readonly refused: Set<string>
  readonly unknown: Set<string>
}

/** Returns true for the error of a store that has never been the leader. */
const isReadOnly = (error: unknown): boolean => error instanceof LogicalError && error.code === 'read-only'

/** Writes a unique key and increments a counter in one transaction. */
const write = async (node: TestNode, name: string, outcomes: Outcomes): Promise<void> => {
  try {
    await node.store.write((tx) => {
      tx.put(`logical/write/${name}`, Buffer.from(name))
      tx.put(COUNTER, Buffer.from(String(Number(tx.get(COUNTER) ?? 0) + 1)))
      tx.put(`sys/token/${name.length}`, Buffer.from(name))
    })
    outcomes.acknowledged.add(name)
  } catch (error) {
    if (error instanceof OutcomeUnknown) outcomes.unknown.add(name)
    else if (error instanceof LeadershipLost || isReadOnly(error)) outcomes.refused.add(name)
    else throw error
  }
}

const play = async (seed: number): Promise<void> => {
  const pick = randomNumbers(seed)
  const world = new NodeWorld(20 + pick(100), { walRetentionEntries: 16 + pick(60) })
  const nodes = ['one', 'two', 'three'].map((name) => new TestNode(world, name))
  for (const node of nodes) await node.start()
  const outcomes: Outcomes = { acknowledged: new Set(), refused: new Set(), unknown: new Set() }
  const pending: Promise<void>[] = []
  const anyOf = (some: readonly TestNode[]): TestNode | undefined => some[pick(some.length)]
  const up = () => nodes.filter((node) => node.life)

  for (let step = 0; step < STEPS; step++) {
    const node = anyOf(up())
    const leader = nodes.find(({ isLeading }) => isLeading)
    switch (pick(16)) {
      case 0:
        if (up().length > 1) anyOf(up())?.crash()
        break
      case 1:
      case 2:
        await anyOf(nodes.filter(({ life }) => !life))?.start()
        break
      case 3:
        void node?.lead()
        break
      case 4:
        void leader?.leadership?.resign()
        break
      case 5:
        node?.life?.shared.link.cut()
        break
      case 6:
        leader?.life?.shared.link.loseAnswers()
        break
      case 7:
        node?.life?.clock.freeze()
        break
      case 8:
        for (const { life } of nodes) life?.clock.thaw()
        for (const { life } of nodes) life?.shared.link.heal()
        break
      case 9:
        world.clock.advance(pick(3000))
        break
      default:
        for (let count = pick(6); count >= 0; count--) {
          const target = pick(8) === 0 ? node : (leader ?? node)
          if (target?.life) pending.push(write(target, `${step}-${count}`, outcomes))
        }
    }
    for (let turns = pick(4); turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve))
  }

  for (const node of nodes) {
    node.life?.clock.thaw()
    node.life?.shared.link.heal()
    if (!node.life) await node.start()
  }
  for (const node of nodes) void node.lead()
  await world.until(() => nodes.some(({ isLeading }) => isLeading))
  await Promise.all([Promise.all(pending), world.until(() => isSettled(outcomes, pending.length))])
  await world.until(() => nodes.every((node) => node.life && node.applied === world.log.end.index))

  const [first, ...others] = nodes.map(({ disk }) => contentOf(disk))
  for (const other of others) expect(other).toEqual(first)
  const { store } = nodes[0] as TestNode
  const has = (name: string) => store.get(`logical/write/${name}`)?.toString() === name
  expect([...outcomes.acknowledged].filter((name) => !has(name))).toEqual([])
  expect([...outcomes.refused].filter(has)).toEqual([])
  const happened = [...outcomes.unknown].filter(has).length
  expect(Number(store.get(COUNTER) ?? 0)).toBe(outcomes.acknowledged.size + happened)
  for (const node of nodes) {
    const { replicated, local } = (await node.store.examine()).pages
    expect([replicated.size, local.size]).toEqual([0, 0])
  }
  expect(outcomes.acknowledged.size).toBeGreaterThan(0)
}

const isSettled = ({ acknowledged, refused, unknown }: Outcomes, count: number): boolean =>
  acknowledged.size + refused.size + unknown.size === count

it('three stores over one shared log become equal, and lose or double no write under random faults', async () => {
  const drawn = Array.from({ length: ROUNDS }, () => Math.floor(Math.random() * 2 ** 32))
  for (const seed of [...FAILED_SEEDS, ...drawn]) {
    console.log(`seed ${seed}`)
    await play(seed)
  }
})

import type { Chance } from '../../src/server/simulated/chance.js'
import type { Clock } from '../../src/base/clock.js'
import type { SimulatedLab, Topology } from '../../src/index.js'

/** A double promotion: both DR copies of a failed primary are promoted, and one of them then follows the other. */

type Name = 'A' | 'B' | 'C' | 'D' | 'E'

/** The required features of a lab, in real or virtual time. */
interface PromotionLab
  extends Pick<SimulatedLab<Name>, 'cluster' | 'failover' | 'rejoin' | 'converged' | 'problems' | 'heal'> {
  link(one: Name, other: Name): { partition(): void; heal(): void }
}

interface Play {
  /** The clock of the lab. */
  readonly clock: Pick<Clock, 'sleep'>
  readonly chance: Chance
  /** Maximum pause between two steps, in milliseconds. */
  readonly pauseMs: number
}

/** C and D are performance secondaries of A, and B and E are DR secondaries. */
export const DOUBLE = {
  name: 'double',
  about: 'a primary with two secondaries of each kind',
  clusters: ['A', 'B', 'C', 'D', 'E'],
  links: [
    { kind: 'dr', primary: 'A', secondary: 'B' },
    { kind: 'dr', primary: 'A', secondary: 'E' },
    { kind: 'performance', primary: 'A', secondary: 'C' },
    { kind: 'performance', primary: 'A', secondary: 'D' },
  ],
} as const satisfies Topology

/** Plays one round. Rejects with the first condition that does not hold at the end. */
export const playDoublePromotion = async (lab: PromotionLab, { clock, chance, pauseMs }: Play): Promise<void> => {
  const pause = () => clock.sleep(chance.next() * pauseMs)
  const write = (name: Name, path: string) => lab.cluster(name).client.send('PUT', `kv/${path}`, { body: { at: name } })
  const A = lab.cluster('A')
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  await lab.converged()
  // A secondary may lack the last log entries.
  const behind = chance.pick(['', 'B', 'C', 'E'] as const)
  if (behind !== '') lab.link('A', behind).partition()
  for (let n = chance.below(5); n >= 0; n--) await write('A', `late-${n}`)
  await pause()
  const [remaining, leaving] = chance.pick([['E', 'B'] as const, ['B', 'E'] as const])
  // Each performance secondary first follows one of both new primaries.
  const assigned = (['C', 'D'] as const).map((name) => [name, chance.pick([remaining, remaining, leaving])] as const)
  for (const [name, other] of assigned) if (chance.happens(0.8)) lab.link(name, other).partition()
  await A.crash()
  await pause()
  for (const name of chance.happens(0.5) ? [remaining, leaving] : [leaving, remaining]) {
    await lab.failover('A', name, { force: true })
    for (let n = chance.below(3); n > 0; n--) await write(name, `${name}-${n}`)
    await pause()
  }
  const isHealedFirst = chance.happens(0.4)
  const heal = async () => {
    for (const [name, other] of assigned) {
      await pause()
      lab.link(name, other).heal()
    }
  }
  if (isHealedFirst) await heal()
  if (chance.happens(0.3)) await A.start()
  await pause()
  const joined = lab.rejoin(leaving, remaining)
  await Promise.all([joined, isHealedFirst ? undefined : heal()])
  lab.heal()
  await judge(lab, remaining, clock)
}

const PATIENCE_MS = 60_000

/**
 * Checks that the remaining cluster accepts writes, that C and D stream from a primary and forward writes, and that the
 * lab converges.
 */
const judge = async (lab: PromotionLab, remaining: Name, clock: Play['clock']): Promise<void> => {
  const find = async () => {
    for (const name of ['C', 'D'] as const) {
      const { state, connection_state: link } = await lab.cluster(name).status('performance')
      if (state !== 'stream-wals' || link !== 'ready') return `${name} is ${state}, ${link}`
    }
    for (const name of [remaining, 'C', 'D'] as const) {
      const { status } = await lab.cluster(name).client.send('PUT', 'kv/last', { body: { at: name } })
      if (status >= 300) return `${name} answers ${status} to a write`
    }
    return undefined
  }
  for (let waitedMs = 0, missing = await find(); missing !== undefined; missing = await find()) {
    if (waitedMs > PATIENCE_MS) throw new Error(`${missing}; ${(await lab.problems()).join('; ')}`)
    await clock.sleep(PAUSE_MS)
    waitedMs += PAUSE_MS
  }
  await lab.converged()
}

const PAUSE_MS = 500

import type { Chance } from '../../src/server/simulated/chance.js'
import type { Topology } from '../../src/index.js'

/** Both DR copies of a primary that died are promoted; then one of them is made to follow the other one. */

type Name = 'A' | 'B' | 'C' | 'D' | 'E'
type Body = Readonly<Record<string, unknown>>

interface Client {
  send(method: 'GET' | 'PUT', path: string, options?: { readonly body?: Body }): Promise<{ readonly status: number }>
  write(path: string, body?: Body): Promise<unknown>
}

interface Cluster {
  readonly client: Client
  readonly anonymous: Client
  crash(): Promise<unknown>
  start(): Promise<unknown>
  status(kind: 'dr' | 'performance'): Promise<Body>
}

/** What the story needs of a lab, in real time or in virtual time. */
export interface StoryLab {
  readonly clock: { sleep(ms: number): Promise<void> }
  cluster(name: Name): Cluster
  link(one: Name, other: Name): { partition(): void; heal(): void }
  failover(lost: Name, to: Name, options: { readonly force: boolean }): Promise<void>
  rejoin(former: Name, primary: Name): Promise<void>
  converged(): Promise<void>
  problems(): Promise<string[]>
  heal(): void
}

/** C and D follow A and serve clients; B and E are its copies. */
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

/** Plays one round and rejects with what does not hold in the end. `pauseMs`: the longest pause between two steps. */
export const playDoublePromotion = async (lab: StoryLab, chance: Chance, pauseMs: number): Promise<void> => {
  const pause = () => lab.clock.sleep(chance.next() * pauseMs)
  const write = (name: Name, path: string) => lab.cluster(name).client.send('PUT', `kv/${path}`, { body: { at: name } })
  const A = lab.cluster('A')
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  await lab.converged()
  // One of the copies, or one that serves, may lack the end of the log.
  const behind = chance.pick(['', 'B', 'C', 'E'] as const)
  if (behind !== '') lab.link('A', behind).partition()
  for (let n = chance.below(5); n >= 0; n--) await write('A', `late-${n}`)
  await pause()
  const [kept, yielding] = chance.pick([['E', 'B'] as const, ['B', 'E'] as const])
  // Of those that serve some come to one of the two, and some to the other one.
  const away = (['C', 'D'] as const).map((name) => [name, chance.pick([kept, kept, yielding])] as const)
  for (const [name, other] of away) if (chance.happens(0.8)) lab.link(name, other).partition()
  await A.crash()
  await pause()
  for (const name of chance.happens(0.5) ? [kept, yielding] : [yielding, kept]) {
    await lab.failover('A', name, { force: true })
    for (let n = chance.below(3); n > 0; n--) await write(name, `${name}-${n}`)
    await pause()
  }
  const isHealedFirst = chance.happens(0.4)
  const heal = async () => {
    for (const [name, other] of away) {
      await pause()
      lab.link(name, other).heal()
    }
  }
  if (isHealedFirst) await heal()
  if (chance.happens(0.3)) await A.start()
  await pause()
  const joined = lab.rejoin(yielding, kept)
  await Promise.all([joined, isHealedFirst ? undefined : heal()])
  lab.heal()
  await judge(lab, kept)
}

const PATIENCE_MS = 60_000

/** The cluster that was kept is the only primary: it takes writes, all that follow it have them, and nothing is said to be wrong. */
const judge = async (lab: StoryLab, kept: Name): Promise<void> => {
  await until(lab, `${kept} is to take writes, and the others to follow it`, async () => {
    const followed = await Promise.all(
      (['C', 'D'] as const).map(async (name) => ({ name, ...(await lab.cluster(name).status('performance')) }) as Body),
    )
    for (const { name, state, connection_state: link } of followed)
      if (state !== 'stream-wals' || link !== 'ready') return `${name} is ${state}, ${link}`
    for (const name of [kept, 'C', 'D'] as const) {
      const { status } = await lab.cluster(name).client.send('PUT', 'kv/last', { body: { at: name } })
      if (status >= 300) return `${name} answers ${status} to a write`
    }
    return undefined
  })
  await lab.converged()
}

const until = async (lab: StoryLab, what: string, find: () => Promise<string | undefined>): Promise<void> => {
  for (let waitedMs = 0; ; waitedMs += 500) {
    const missing = await find()
    if (missing === undefined) return
    if (waitedMs > PATIENCE_MS) throw new Error(`${what}: ${missing}; ${(await lab.problems()).join('; ')}`)
    await lab.clock.sleep(500)
  }
}

import type { Cluster } from './clusters.js'
import type { Drill } from './drill.js'

/** The link in front of a primary, and a performance secondary that is reached over it. */
export interface LinkUnderTest {
  readonly on: Drill
  readonly primary: Cluster
  readonly secondary: Cluster
}

type Step = (test: LinkUnderTest) => Promise<void>

/** The secondary's own view of the link. */
const untilState = (
  { on, secondary }: LinkUnderTest,
  what: string,
  isSo: (connectionState: unknown) => boolean,
): Promise<void> =>
  on.wait(secondary, what, async () => {
    const { connection_state } = await secondary.status('performance')
    return isSo(connection_state) ? undefined : String(connection_state)
  })

/** Waits until somebody has connected to the link so often since there were `before` connections. */
export const untilDialled = (on: Drill, primary: Cluster, before: number, times: number): Promise<void> =>
  on.wait(primary, `${times} new connections`, async () => {
    const { dialCount } = primary.link
    return dialCount >= before + times ? undefined : `only ${dialCount - before}`
  })

/** Ways to break the link, each with the fact by which the break is seen, and the way back. */
const BREAKS: Readonly<Record<string, Step>> = {
  reset: async ({ on, primary }) => {
    const { dialCount } = primary.link
    primary.link.resetConnections()
    await untilDialled(on, primary, dialCount, 1)
  },
  down: async (test) => {
    await test.primary.link.down()
    await untilState(test, 'the lost link to be noticed', (state) => state !== 'ready')
    await test.primary.link.up()
  },
  partition: async (test) => {
    test.primary.link.partition()
    await untilState(test, 'the partition to be noticed', (state) => state !== 'ready')
    test.primary.link.heal()
  },
}

/** How far the secondary gets before the next break. */
const MOMENTS: Readonly<Record<string, Step>> = {
  dialling: ({ on, primary }) =>
    on.wait(primary, 'a connection', async () =>
      primary.link.connectionCount > 0 ? undefined : 'nobody is connected',
    ),
  ready: (test) => untilState(test, 'the link to be ready', (state) => state === 'ready'),
  streaming: async ({ on, secondary }) => {
    const before = Number((await secondary.status('performance')).last_remote_wal)
    await on.wait(secondary, 'more of the log', async () => {
      const now = Number((await secondary.status('performance')).last_remote_wal)
      return now > before ? undefined : `it is at ${now}`
    })
  },
}

/** Breaks the link in every way at every moment. Writes must go on meanwhile. */
export const flap = async (test: LinkUnderTest): Promise<void> => {
  for (const [moment, untilMoment] of Object.entries(MOMENTS)) {
    for (const [how, breakLink] of Object.entries(BREAKS)) {
      test.on.step(`broken while ${moment}: ${how}`)
      await untilMoment(test)
      await breakLink(test)
    }
  }
}

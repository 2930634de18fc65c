import { afterEach, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { createSystemRandom } from '../../src/base/random.js'
import { Link } from '../../src/lab/proxy/link.js'
import { type Cluster, needsProcess, openClusters } from '../support/clusters.js'
import { type Drill, drill } from '../support/drill.js'
import { WriteLoad } from '../support/load.js'

/** The link to a primary, and a performance secondary that connects over it. */
interface LinkUnderTest {
  readonly on: Drill
  readonly primary: Cluster
  readonly secondary: Cluster
}

type Step = (test: LinkUnderTest) => Promise<void>

/** Waits until the secondary reports this state of the link. */
const untilState = (
  { on, secondary }: LinkUnderTest,
  what: string,
  isSo: (connectionState: unknown) => boolean,
): Promise<void> =>
  on.wait(secondary, what, async () => {
    const { connection_state } = await secondary.status('performance')
    return isSo(connection_state) ? undefined : String(connection_state)
  })

/** Waits until the link has `times` more connections than `before`. */
const untilDialled = (on: Drill, primary: Cluster, before: number, times: number): Promise<void> =>
  on.wait(primary, `${times} new connections`, async () => {
    const { dialCount } = primary.link
    return dialCount >= before + times ? undefined : `only ${dialCount - before}`
  })

/** Ways to break the link: each has the break, the condition that shows it, and the repair. */
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

/** Progress of the secondary before the next break. */
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

/** Breaks the link in every way at every moment. Writes must continue meanwhile. */
const flap = async (test: LinkUnderTest): Promise<void> => {
  for (const [moment, untilMoment] of Object.entries(MOMENTS)) {
    for (const [how, breakLink] of Object.entries(BREAKS)) {
      test.on.step(`the link is broken while ${moment}: ${how}`)
      await untilMoment(test)
      await breakLink(test)
    }
  }
}

/**
 * All faults of a link, caused by the network or a peer. After each fault, both secondaries stream with equal roots,
 * without an operator. If the contract specifies a refusal instead, the status shows it.
 */
const clusters = openClusters()
let A: Cluster
let B: Cluster
let C: Cluster
let load: WriteLoad

beforeAll(async () => {
  A = await clusters.add('A', { hasLink: true })
  B = await clusters.add('B')
  C = await clusters.add('C')
  await A.client.write('sys/mounts/kv', { type: 'kv' })
  await clusters.join(A, C, 'performance', 'c')
  await clusters.join(A, B, 'dr', 'dr-b')
  load = new WriteLoad({
    client: A.client,
    writers: 2,
    pathOf: (index) => `kv/load-${index % 200}`,
    bodyOf: (index) => ({ value: index, filler: 'x'.repeat(2000) }),
  })
})

afterEach(() => load.stop())

/** Checks that both secondaries stream with the primary's root, and that new writes arrive. */
const expectHealed = async (on: Drill): Promise<void> => {
  const startedMs = on.elapsedMs
  await load.stop()
  await on.write(A, 'kv/healed', on.elapsedMs)
  await clusters.untilReplicated(A, B, 'dr')
  await clusters.untilReplicated(A, C, 'performance')
  on.note(`equal roots ${Math.round(on.elapsedMs - startedMs)} ms after the fault was over`)
  const wanted = (await on.call(A, 'GET', 'kv/healed')).data
  expect((await on.call(C, 'GET', 'kv/healed')).data).toEqual(wanted)
}

const untilNoticed = async (on: Drill): Promise<void> => {
  for (const [cluster, kind] of [
    [B, 'dr'],
    [C, 'performance'],
  ] as const) {
    await on.wait(cluster, 'the fault to be noticed', async () => {
      const { connection_state, state } = await cluster.status(kind)
      if (state !== 'stream-wals') return `state is ${state}`
      return connection_state === 'ready' ? 'it is ready' : undefined
    })
  }
  await on.wait(A, 'both secondaries to be seen as disconnected', async () => {
    const both = await Promise.all([A.status('dr'), A.status('performance')])
    const links = both.flatMap(({ secondaries }) => secondaries as { connection_status: string }[])
    return links.every((link) => link.connection_status === 'disconnected') ? undefined : JSON.stringify(links)
  })
}

it.each(['both', 'up', 'down'] as const)('replication recovers from a partition (%s)', (way) =>
  drill(`partition ${way}`, async (on) => {
    load.start()
    A.link.partition(way)
    await untilNoticed(on)
    await on.refused(C, 'PUT', 'kv/cut', { value: 1 }, 503, 'primary cluster is unreachable')
    A.link.heal(way)
    await expectHealed(on)
  }),
)

it.for(['the primary', 'the secondaries'] as const)('replication continues after %s was suspended', (who, context) => {
  needsProcess(context, 'SIGSTOP: it would stop the test as well; in-process, a held link shows that a peer is silent')
  return drill(`${who} frozen`, async (on) => {
    const frozen = who === 'the primary' ? [A] : [B, C]
    if (who !== 'the primary') load.start()
    for (const { process } of frozen) process.signal('SIGSTOP')
    try {
      if (who === 'the primary') {
        await on.wait(C, 'the freeze to be noticed', async () =>
          (await C.status('performance')).connection_state === 'ready' ? 'it is ready' : undefined,
        )
      } else {
        await on.wait(A, 'the freeze to be noticed', async () => {
          const { secondaries } = await A.status('dr')
          return JSON.stringify(secondaries).includes('disconnected') ? undefined : 'both are connected'
        })
      }
    } finally {
      for (const { process } of frozen) process.signal('SIGCONT')
    }
    await expectHealed(on)
  })
})

it.each(['both', 'up', 'down'] as const)('replication continues after a silent link (%s)', (way) =>
  drill(`link held ${way}`, async (on) => {
    load.start()
    A.link.hold(way)
    await untilNoticed(on)
    await on.refused(C, 'PUT', 'kv/held', { value: 1 }, 503, 'primary cluster is unreachable')
    A.link.release(way)
    await expectHealed(on)
  }),
)

it('replication continues after a flapping link', () =>
  drill('flapping link', async (on) => {
    load.start()
    await flap({ on, primary: A, secondary: C })
    await expectHealed(on)
  }))

it('replication waits for a slow reader and loses nothing', () =>
  drill('slow reader', async (on) => {
    A.link.setFault('bandwidth', { bytesPerSecond: 40_000 }, 'down')
    A.link.setFault('latency', { ms: 30, jitterMs: 20 })
    load.start()
    const { size } = load.acknowledged
    await on.wait(A, '200 writes', async () => (load.acknowledged.size >= size + 200 ? undefined : 'too few'))
    await load.stop()
    expect(load.refusals.size, 'the primary is not slowed down').toBe(0)
    A.link.clearFaults()
    await expectHealed(on)
  }))

/** Number of connections: two secondaries connect, are disconnected, and connect again. */
const BOTH_TWICE = 4

it('replication recovers from a message that a reset cut in two', () =>
  drill('reset in mid-message', async (on) => {
    for (const bytes of [100, 3000, 9000, 20_000]) {
      A.link.setFault('limit_data', { bytes }, 'down')
      const { dialCount } = A.link
      A.link.resetConnections()
      load.start()
      await untilDialled(on, A, dialCount, BOTH_TWICE)
      A.link.clearFaults()
      A.link.resetConnections()
      await load.stop()
    }
    A.link.setFault('reset_peer', { ms: 20 })
    const { dialCount } = A.link
    A.link.resetConnections()
    load.start()
    await untilDialled(on, A, dialCount, BOTH_TWICE)
    A.link.clearFaults()
    A.link.resetConnections()
    await expectHealed(on)
  }))

it('a secondary does not follow another cluster at the address of its primary', () =>
  drill('another cluster at the address', async (on) => {
    const other = await clusters.add('N')
    await other.client.write('sys/mounts/kv', { type: 'kv' })
    await other.client.write('kv/load-1', { value: 'of another set' })
    await clusters.makePrimary(other, 'performance')
    await clusters.makePrimary(other, 'dr')
    const root = (await C.status('performance')).merkle_root
    await A.link.down()
    const impostor = await Link.open({
      port: A.link.port,
      target: { host: '127.0.0.1', port: other.server.ports.cluster },
      clock: systemClock,
      random: createSystemRandom(),
    })
    try {
      await untilNoticed(on)
      await on.wait(C, 'the impostor to be dialled', async () => {
        const { connection_state } = await C.status('performance')
        return connection_state === 'transient_failure' ? undefined : String(connection_state)
      })
      const update = 'sys/replication/performance/secondary/update-primary'
      const address = `127.0.0.1:${other.server.ports.cluster}`
      await on.refused(
        C,
        'POST',
        update,
        { update_primary_addrs: [address] },
        400,
        'none of update_primary_addrs answered',
      )
      const token = await on.token(other, 'performance', 'stolen')
      await on.refused(C, 'POST', update, { token }, 400, 'token belongs to another replication set')
      expect((await C.status('performance')).merkle_root).toBe(root)
      expect((await other.status('performance')).known_secondaries).toEqual(['stolen'])
    } finally {
      await impostor.close()
    }
    await A.link.up()
    await expectHealed(on)
    await other.close()
  }))

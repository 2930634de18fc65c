import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ApiClient } from '../../src/client/api-client.js'
import type { FaultRequest } from '../../src/lab/daemon/active-fault.js'
import type { ServerVerb } from '../../src/lab/model/server-verbs.js'

/** A lab of the topology "dr" on one kind of host. */
export interface HostedLab {
  /** Runs an action on the server of a cluster. */
  work(verb: ServerVerb, cluster: string): Promise<unknown>
  /** Sends requests to cluster A: with a root token if `isRoot`, else without one. */
  ask<T>(isRoot: boolean, requests: (client: ApiClient) => Promise<T>): Promise<T>
  setFault(request: FaultRequest): Promise<unknown>
  /** Removes every fault. */
  heal(): Promise<unknown>
  /** Restores the lab to its state after the start. */
  reset(): Promise<unknown>
  /** Returns the log of the server of cluster A. */
  logs(): string
  end(): Promise<void>
}

/** What a host may be unable to do. */
type Capability = 'run' | 'pause' | 'wipe' | 'server-fault' | 'link-fault' | 'reset' | 'logs'

/** The text of the error for each missing capability. Null: the interface of the host has no method for it. */
type Missing = Readonly<Partial<Record<Capability, string | null>>>

type Fact = (lab: HostedLab) => Promise<void>

const isRefused = (text: string) => expect.objectContaining({ code: 'usage', message: expect.stringContaining(text) })

const healthOf = (lab: HostedLab): Promise<number> =>
  lab.ask(false, async (client) => (await client.send('GET', 'sys/health')).status)

const write = (lab: HostedLab, word: string): Promise<unknown> =>
  lab.ask(true, (client) => client.write('kv/greeting', { word }))

const read = (lab: HostedLab): Promise<unknown> =>
  lab.ask(true, async (client) => (await client.send('GET', 'kv/greeting')).json?.data)

const skewOf = (lab: HostedLab): Promise<unknown> =>
  lab.ask(false, async (client) => (await client.read('/_understudy/v1/faults')).skew_ms)

const keepsData =
  (end: 'stop' | 'crash'): Fact =>
  async (lab) => {
    await write(lab, end)
    await lab.work(end, 'A')
    await expect(healthOf(lab)).rejects.toThrow()
    await lab.work('start', 'A')
    expect(await read(lab)).toEqual({ word: end })
  }

const SKEW: FaultRequest = { cluster: 'A', fault: { name: 'skew', ms: 300_000 } }
const PARTITION: FaultRequest = { between: ['A', 'B'], isOneWay: false, fault: { name: 'partition' } }

/**
 * Facts about the server of a cluster, each with the capability that it needs. The last ones change the lab
 * permanently.
 */
const FACTS: readonly (readonly [fact: string, needs: Capability | undefined, check: Fact])[] = [
  ['a stopped server does not respond, and keeps its data', 'run', keepsData('stop')],
  ['a killed server does not respond, and keeps its data', 'run', keepsData('crash')],
  [
    'a restarted server responds, and keeps its data',
    'run',
    async (lab) => {
      await write(lab, 'restart')
      await lab.work('restart', 'A')
      expect(await read(lab)).toEqual({ word: 'restart' })
    },
  ],
  [
    'a start of a running server and a stop of a stopped server succeed',
    'run',
    async (lab) => {
      await lab.work('start', 'A')
      await lab.work('stop', 'A')
      await lab.work('stop', 'A')
      await lab.work('start', 'A')
      expect(await healthOf(lab)).toBe(200)
    },
  ],
  [
    'a sealed server serves no secrets until it is unsealed',
    undefined,
    async (lab) => {
      await lab.work('seal', 'A')
      expect(await healthOf(lab)).toBe(503)
      await lab.work('unseal', 'A')
      expect(await healthOf(lab)).toBe(200)
    },
  ],
  [
    'a paused server does not respond until it is resumed, and can be stopped',
    'pause',
    async (lab) => {
      await lab.work('pause', 'A')
      await expect(
        lab.ask(false, (client) => client.with({ timeoutMs: 500 }).send('GET', 'sys/health')),
      ).rejects.toThrow()
      await lab.work('resume', 'A')
      expect(await healthOf(lab)).toBe(200)
      await lab.work('pause', 'A')
      await lab.work('restart', 'A')
      expect(await healthOf(lab)).toBe(200)
    },
  ],
  [
    'a fault of a server stays until it is removed',
    'server-fault',
    async (lab) => {
      await lab.setFault(SKEW)
      expect(await skewOf(lab)).toBe(300_000)
      await lab.heal()
      expect(await skewOf(lab)).toBe(0)
    },
  ],
  [
    'a fault of a link can be set and removed',
    'link-fault',
    async (lab) => {
      await lab.setFault(PARTITION)
      await lab.heal()
    },
  ],
  ['the log of a server has lines', 'logs', async (lab) => expect(lab.logs()).toContain('\n')],
  [
    'a reset removes data that was written after the start',
    'reset',
    async (lab) => {
      await lab.reset()
      expect(await read(lab)).toBeUndefined()
    },
  ],
  [
    'the data of a stopped server can be removed, and that of a running server cannot',
    'wipe',
    async (lab) => {
      await expect(lab.work('wipe', 'B')).rejects.toMatchObject({ code: 'conflict' })
      await lab.work('stop', 'B')
      await lab.work('wipe', 'B')
      expect(await lab.work('start', 'B')).toContain('had no data and was initialized as a new cluster')
    },
  ],
]

/** An attempt at each capability, which fails on hosts without it. */
const ATTEMPTS: Readonly<Record<Capability, (lab: HostedLab) => unknown>> = {
  run: (lab) => lab.work('stop', 'A'),
  pause: (lab) => lab.work('pause', 'A'),
  wipe: (lab) => lab.work('wipe', 'A'),
  'server-fault': (lab) => lab.setFault(SKEW),
  'link-fault': (lab) => lab.setFault(PARTITION),
  reset: (lab) => lab.reset(),
  logs: (lab) => lab.logs(),
}

/** Checks that a host has the common behavior, and rejects unsupported actions with a clear error. */
export const describeHost = (name: string, open: () => Promise<HostedLab>, missing: Missing = {}): void => {
  describe(`servers of a lab (${name})`, () => {
    let lab: HostedLab

    beforeAll(async () => {
      lab = await open()
      await lab.ask(true, (client) => client.write('sys/mounts/kv', { type: 'kv' }))
    })

    afterAll(async () => {
      await lab?.end()
    })

    const known = FACTS.filter(([, needs]) => needs === undefined || missing[needs] === undefined)
    it.each(known.map(([fact, , check]) => ({ fact, check })))('$fact', ({ check }) => check(lab))

    const refused = Object.entries(missing).filter((entry): entry is [Capability, string] => entry[1] !== null)
    it.each(refused)(`"%s" is rejected on this host: %s`, async (capability, text) => {
      await expect(async () => ATTEMPTS[capability](lab)).rejects.toEqual(isRefused(text))
      expect(await healthOf(lab)).toBe(200)
    })
  })
}

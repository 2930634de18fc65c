import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, it } from 'vitest'
import { startLab } from '../../../src/index.js'
import { createMemoryStorage } from '../../../src/server/data/server-storage.js'
import { FreshLabs } from '../../../src/vitest.js'
import { until } from '../../support/until.js'

/** Returns the resources that keep this process alive, by kind. */
const resources = (): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

const KINDS = ['TCPSocketWrap', 'TCPServerWrap']

it.each(['stop', 'crash'] as const)('a server that ended by %s leaves no open socket or port', async (end) => {
  const before = resources()
  {
    await using lab = await startLab('pr-dr', { storage: 'disk' })
    await lab.A.client.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } })
    for (const cluster of [lab.A, lab.B, lab.C]) await cluster[end]()
    for (const cluster of [lab.A, lab.B, lab.C]) await cluster.start()
    await lab.converged()
    for (const cluster of [lab.A, lab.B, lab.C]) await cluster[end]()
  }
  await untilNoMoreThan(before)
})

const untilNoMoreThan = (before: Readonly<Record<string, number>>): Promise<void> =>
  until(() => {
    const now = resources()
    return KINDS.every((kind) => (now[kind] ?? 0) <= (before[kind] ?? 0))
  })

/** Returns the temporary directories of this process. */
const directories = (): string[] =>
  readdirSync(tmpdir()).filter((name) => name.startsWith(`understudy-in-process-${process.pid}-`))

/** A lab with all optional parts besides its servers. */
const RICH = {
  name: 'rich',
  about: '',
  clusters: ['A', 'B'],
  links: [{ kind: 'dr', primary: 'A', secondary: 'B' }],
  plans: {
    A: { tls: true, reach: 'load-balancer', seal: { type: 'auto', shares: 1, threshold: 1 } },
    B: { tls: true },
  },
} as const

it.each(['is made', 'is opened'])('a lab whose storage fails when it %s leaves nothing behind', async (when) => {
  const before = resources()
  const storage = (name: string) => {
    if (name === 'A') return createMemoryStorage()
    if (when === 'is made') throw new Error('no such disk')
    return { ...createMemoryStorage(), open: () => Promise.reject(new Error('no such disk')) }
  }
  await expect(startLab(RICH, { storage })).rejects.toThrow('no such disk')
  await untilNoMoreThan(before)
  expect(directories()).toEqual([])
})

it('concurrent labs leave no resources after repeated closes', async () => {
  const before = resources()
  const labs = await Promise.all([startLab(RICH), startLab(RICH, { storage: 'disk' })])
  const [one, other] = labs
  expect(one.A.clusterAddress).not.toBe(other.A.clusterAddress)
  await one.B.stop()
  const starting = one.B.start().catch((error: unknown) => error)
  one.link('A', 'B').partition()
  await one.A.client.write('sys/mounts/kv', { type: 'kv' })
  const waiting = expect(one.converged()).rejects.toThrow('the lab was closed')
  await Promise.all([one.close(), one.close(), other.close()])
  await one.close()
  await waiting
  await starting
  const closed = { code: 'interrupted', message: 'the lab was closed' }
  await expect(one.A.start()).rejects.toMatchObject(closed)
  await expect(one.A.active()).rejects.toMatchObject(closed)
  for (const each of [one.A, one.node('A1')]) expect(() => each.client).toThrow(expect.objectContaining(closed))
  for await (const event of one.events) expect(event).toBeUndefined()
  await untilNoMoreThan(before)
  expect(directories()).toEqual([])
})

it('a lab for a test file starts once, and can be closed during its start', async () => {
  const before = resources()
  const labs = new FreshLabs('single', {})
  const asked = [labs.next(), labs.next()]
  const [first, second] = await Promise.all(asked)
  expect(first).toBe(second)
  await labs.close()
  const late = labs.next()
  await labs.close()
  await late
  await untilNoMoreThan(before)
})

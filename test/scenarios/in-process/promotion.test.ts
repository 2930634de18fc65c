import { expect, it } from 'vitest'
import { until } from '../../support/until.js'
import { systemClock } from '../../../src/base/clock.js'
import { InProcessLab } from '../../../src/lab/library/in-process-lab.js'
import { openInProcessLab } from '../../../src/lab/live/in-process-driver.js'
import type { LiveLab } from '../../../src/lab/live/live-lab.js'
import type { Topology } from '../../../src/lab/model/topology.js'
import { failOver } from '../../../src/lab/operations/failover.js'
import { clearFilter, setFilter, showFilter } from '../../../src/lab/operations/filters.js'
import { rejoin, switchOver } from '../../../src/lab/operations/operations.js'
import { promoteCluster } from '../../../src/lab/operations/promotion.js'
import { activate } from '../../../src/lab/operations/role-changes.js'
import { Runbook } from '../../../src/lab/operations/runbook.js'
import { askStatus, OPERATION_TOKEN } from '../../../src/lab/requests/replication.js'

const TIMEOUT_MS = 20_000

const PERFORMANCE: Topology = {
  name: 'two-performance-secondaries',
  about: 'a primary and two performance secondaries',
  clusters: ['A', 'C', 'E'],
  links: [
    { kind: 'performance', primary: 'A', secondary: 'C' },
    { kind: 'performance', primary: 'A', secondary: 'E' },
  ],
}

const MIXED: Topology = {
  name: 'mixed',
  about: 'a primary with a DR and a performance secondary, and a cluster without replication',
  clusters: ['A', 'B', 'C', 'D'],
  links: [
    { kind: 'performance', primary: 'A', secondary: 'C' },
    { kind: 'dr', primary: 'A', secondary: 'B' },
  ],
}

const COPIES: Topology = {
  name: 'copies',
  about: 'a primary and two DR secondaries',
  clusters: ['A', 'B', 'C'],
  links: [
    { kind: 'dr', primary: 'A', secondary: 'B' },
    { kind: 'dr', primary: 'A', secondary: 'C' },
  ],
}

const DENIED = { mode: 'deny', paths: ['eu/'] } as const

/** Returns a runbook with the texts and the paths of the requests that it prints. */
const recording = (lab: LiveLab, isDryRun = false) => {
  const said: string[] = []
  const paths: string[] = []
  const book = lab.runbook({
    timeoutMs: TIMEOUT_MS,
    onProgress: (text) => void said.push(text),
    onCall: (line) => void paths.push(/sys\/replication\/\S+(?: id=[\w-]+)?/.exec(line)?.[0] ?? line),
    isDryRun,
  })
  return { book, said, paths }
}

const modesOf = async (lab: LiveLab, kind: 'dr' | 'performance'): Promise<readonly string[]> =>
  Promise.all(lab.clusters.map(async ({ name }) => `${name} ${(await askStatus(lab.anonymous(name), kind)).mode}`))

it('promote moves the performance primary, and all other secondaries follow it and keep their filters', async () => {
  await using inProcess = await InProcessLab.start(PERFORMANCE, { seed: 1 })
  await using lab = openInProcessLab(inProcess)
  await (await lab.root('A')).write('sys/mounts/eu', { type: 'kv', options: { version: '1' } })
  await (await lab.root('A')).write('eu/secret', { word: 'stays' })
  const { book, said } = recording(lab)
  await setFilter(book, 'A', 'E', DENIED)
  await inProcess.converged()
  expect(await showFilter(book, 'A', 'E')).toEqual(DENIED)
  expect(await showFilter(book, 'A', 'C')).toBeUndefined()

  const before = ['A primary', 'C secondary', 'E secondary']
  await expect(promoteCluster(book, 'E', 'performance', false)).rejects.toThrow('E has a path filter and lacks data')
  const plan = recording(lab, true)
  await promoteCluster(plan.book, 'C', 'performance', false)
  expect(plan.paths).toEqual([
    'sys/replication/performance/primary/demote',
    'sys/replication/performance/secondary/promote',
    'sys/replication/performance/primary/secondary-token id=perf-a',
    'sys/replication/performance/secondary/update-primary',
    'sys/replication/performance/primary/secondary-token id=perf-e',
    'sys/replication/performance/secondary/update-primary',
  ])
  expect(await modesOf(lab, 'performance'), 'nothing has changed').toEqual(before)

  await promoteCluster(book, 'C', 'performance', false)
  expect(said).toEqual(expect.arrayContaining(['C is the performance primary now']))
  expect(said.at(-1)).toBe('E is a performance secondary of C and replicated')
  expect(await modesOf(lab, 'performance')).toEqual(['A secondary', 'C primary', 'E secondary'])
  expect(await showFilter(book, 'C', 'E')).toEqual(DENIED)
  await rejoin(book, 'E', 'C', 'performance')
  expect(await showFilter(book, 'C', 'E'), 'a new registration keeps the filter').toEqual(DENIED)
  expect((await (await lab.root('E')).send('GET', 'eu/secret')).status).toBe(404)
  await (await lab.root('A')).write('eu/secret', { word: 'through A' })
  expect(await (await lab.root('C')).read('eu/secret')).toMatchObject({ data: { word: 'through A' } })
  await clearFilter(book, 'C', 'E')
  expect(await showFilter(book, 'C', 'E')).toBeUndefined()
})

it('promote replaces a performance primary that is down, which can rejoin its successor', async () => {
  await using inProcess = await InProcessLab.start(PERFORMANCE, { seed: 2 })
  await using lab = openInProcessLab(inProcess)
  await inProcess.converged()
  await lab.work('crash', 'A', TIMEOUT_MS)
  const { book, said } = recording(lab)
  await promoteCluster(book, 'C', 'performance', false)
  expect(said).toEqual([
    'WARNING: no performance primary of C responds; writes that C has not received are lost',
    'C is the performance primary now',
    expect.stringMatching(/^A does not respond; .*understudy rejoin A C --kind performance/),
    'E is a performance secondary of C and replicated',
  ])
  await lab.work('start', 'A', TIMEOUT_MS)
  await rejoin(book, 'A', 'C', 'performance')
  expect(await modesOf(lab, 'performance')).toEqual(['A secondary', 'C primary', 'E secondary'])
})

it('promote leaves the primary and all its secondaries as they were if writes would be lost', async () => {
  const settings = { demote_drain_timeout: '500ms' }
  await using inProcess = await InProcessLab.start(PERFORMANCE, { seed: 5, settings })
  await using lab = openInProcessLab(inProcess)
  await inProcess.converged()
  const held = { name: 'hold-state', state: 'apply', kind: 'performance' } as const
  const { id } = await lab.setFault({ cluster: 'C', fault: held })
  await (await lab.root('A')).write('sys/mounts/late', { type: 'kv' })
  const { book, said } = recording(lab)
  await expect(promoteCluster(book, 'C', 'performance', false)).rejects.toThrow(
    'C was not promoted, because writes would be lost; A is the performance primary again; to make C follow it: understudy rejoin C A --kind performance',
  )
  expect(said).toContain('E is a performance secondary of A and replicated')
  await lab.heal([id])
  await rejoin(book, 'C', 'A', 'performance')
  expect(await modesOf(lab, 'performance')).toEqual(['A primary', 'C secondary', 'E secondary'])
})

it('operations reject clusters of the wrong role or set before they change anything', async () => {
  await using inProcess = await InProcessLab.start(MIXED, { seed: 3 })
  await using lab = openInProcessLab(inProcess)
  const { book } = recording(lab)
  const refused = (work: Promise<unknown>, text: string) => expect(work, text).rejects.toThrow(text)
  await refused(switchOver(book, 'B', 'A'), 'A is not a DR secondary: it is a DR primary')
  await refused(activate(book, 'B', 'D', 'performance'), 'B is a DR secondary, and cannot be a performance primary')
  await refused(activate(book, 'C', 'D', 'performance'), 'C is a performance secondary, and cannot be a performance')
  await refused(
    activate(book, 'A', 'C', 'dr'),
    'C is a performance secondary, and can join another replication set only',
  )
  await refused(rejoin(book, 'D', 'A'), 'D is not a DR secondary: its DR replication is disabled')
  await refused(promoteCluster(book, 'A', 'dr', false), 'A is not a DR secondary: it is a DR primary')
  await refused(setFilter(book, 'A', 'B', DENIED), 'B is not a performance secondary of A')
  await refused(setFilter(book, 'C', 'A', DENIED), 'C is not a performance primary')

  await activate(book, 'C', 'D', 'dr')
  const before = ['A primary', 'B secondary', 'C primary', 'D secondary']
  await refused(switchOver(book, 'B', 'D'), 'B is not a DR primary: it is a DR secondary')
  await refused(switchOver(book, 'A', 'D'), 'D and A belong to different DR replication sets')
  await refused(rejoin(book, 'C', 'A'), 'C and A belong to different DR replication sets')
  expect(await modesOf(lab, 'dr'), 'nothing has changed').toEqual(before)

  await promoteCluster(book, 'B', 'dr', false)
  expect(await modesOf(lab, 'dr')).toEqual(['A secondary', 'B primary', 'C primary', 'D secondary'])
  await lab.work('crash', 'B', TIMEOUT_MS)
  await refused(promoteCluster(book, 'A', 'dr', false), 'no DR primary of A responds')
  const lost = { lost: 'D', to: 'A', isForced: false, acceptLoss: 0 }
  await refused(failOver(book, lost), 'D is running and not the former DR primary of A')
})

it('a failover fails if it names a running secondary as the lost primary', async () => {
  await using inProcess = await InProcessLab.start(COPIES, { seed: 8 })
  await using lab = openInProcessLab(inProcess)
  const { book } = recording(lab)
  await lab.work('crash', 'A', TIMEOUT_MS)
  const failover = { lost: 'B', to: 'C', isForced: false, acceptLoss: 0 }
  await expect(failOver(book, failover)).rejects.toThrow(
    'B is running and not the former DR primary of C, so writes of the lost primary may be missing',
  )
  expect((await askStatus(lab.anonymous('C'), 'dr')).mode).toBe('secondary')
})

it('a failover to a former primary fails if the running cluster has followed a later primary', async () => {
  await using inProcess = await InProcessLab.start(COPIES, { seed: 10 })
  await using lab = openInProcessLab(inProcess)
  const { book } = recording(lab)
  await inProcess.converged()
  await (await lab.root('A')).write('sys/replication/dr/primary/demote')
  await failOver(book, { lost: 'A', to: 'B', isForced: false, acceptLoss: 0 })
  await rejoin(book, 'C', 'B')
  await (await lab.root('B')).write('sys/mounts/late', { type: 'kv' })
  await lab.work('crash', 'B', TIMEOUT_MS)
  const failover = { lost: 'C', to: 'A', isForced: false, acceptLoss: 0 }
  await expect(failOver(book, failover)).rejects.toThrow(
    'C is running and not the former DR primary of A, so writes of the lost primary may be missing',
  )
  expect((await askStatus(lab.anonymous('A'), 'dr')).mode).toBe('secondary')
})

it('a rejoin that fails leaves no open generation of an operation token', async () => {
  await using inProcess = await InProcessLab.start(MIXED, { seed: 9 })
  await using lab = openInProcessLab(inProcess)
  const { book } = recording(lab)
  const attempt = `${OPERATION_TOKEN}/attempt`
  const { id } = await lab.setFault({ cluster: 'B', fault: { name: 'disk', state: 'full' } })
  await expect(rejoin(book, 'B', 'A')).rejects.toThrow('503')
  expect(await lab.anonymous('B').read(attempt)).toMatchObject({ started: false })
  await lab.heal([id])
  // The storage accepts writes again some time after the disk has space.
  const isFull = (error: unknown): boolean => String(error).includes('no space left')
  const isJoined = (): Promise<boolean> =>
    rejoin(book, 'B', 'A').then(
      () => true,
      (error: unknown) => {
        if (!isFull(error)) throw error
        return false
      },
    )
  await until(isJoined)

  await lab.anonymous('B').write(attempt)
  await expect(rejoin(book, 'B', 'A')).rejects.toThrow('another generation of an operation token is in progress')
  expect(await lab.anonymous('B').read(attempt), 'of another operator').toMatchObject({ started: true })
})

it('rejoin reads the losses before the demotion, and reports none as new if the earlier losses are unknown', async () => {
  await using inProcess = await InProcessLab.start(MIXED, { seed: 10 })
  await using lab = openInProcessLab(inProcess)
  const { book, said, paths } = recording(lab)
  const cut = await lab.setFault({ between: ['A', 'B'], isOneWay: false, fault: { name: 'partition' } })
  await (await lab.root('A')).write('sys/mounts/late', { type: 'kv' })
  await failOver(book, { lost: 'A', to: 'B', isForced: true, acceptLoss: 0 })
  await lab.heal([cut.id])
  const pathsAtRead: string[][] = []
  const read = book.losses.bind(book)
  book.losses = async (name) => {
    pathsAtRead.push([...paths])
    return pathsAtRead.length === 1 ? undefined : read(name)
  }
  await rejoin(book, 'A', 'B')
  expect(pathsAtRead[0]).not.toContain('sys/replication/dr/primary/demote')
  expect(pathsAtRead[1]).toContain('sys/replication/dr/primary/demote')
  expect(said.at(-1)).toBe(
    'cannot read which log entries A discarded; to list all that it discarded: understudy losses A --name mixed',
  )
  said.length = 0
  await rejoin(book, 'A', 'B')
  expect(said, 'the earlier loss is not new').toEqual(['A is a DR secondary of B and replicated'])
})

it('a forced failover that is rejected prints no warning about two primaries', async () => {
  await using inProcess = await InProcessLab.start(MIXED, { seed: 6 })
  await using lab = openInProcessLab(inProcess)
  const { book, said } = recording(lab)
  await failOver(book, { lost: 'A', to: 'B', isForced: true, acceptLoss: 0 })
  expect(said).toEqual([
    expect.stringMatching(/^WARNING: A is running and stays a DR primary/),
    'B is the DR primary now',
  ])
  const back = failOver(book, { lost: 'B', to: 'A', isForced: true, acceptLoss: 0 })
  await expect(back).rejects.toThrow('A is not a DR secondary: it is a DR primary')
  expect(said).toHaveLength(2)
})

it('a dry run fails without enough key shares or tokens, as the operation does', async () => {
  await using inProcess = await InProcessLab.start(MIXED, { seed: 4, shares: 3, threshold: 2 })
  await using lab = openInProcessLab(inProcess)
  const bookWith = (unsealKeys: number, isDryRun: boolean) => {
    const clusters = lab.clusters.map((cluster) => {
      const keys = cluster.unsealKeys.slice(0, unsealKeys)
      return { ...cluster, rootToken: '', unsealKeys: keys, threshold: keys.length }
    })
    const rootTokenOf = async () => ''
    const options = { clock: systemClock, timeoutMs: TIMEOUT_MS, onProgress: () => undefined, rootTokenOf, isDryRun }
    return new Runbook({ name: 'mixed', clusters }, options)
  }
  for (const shares of [0, 1])
    for (const isDryRun of [true, false])
      await expect(switchOver(bookWith(shares, isDryRun), 'A', 'B'), `${shares} ${isDryRun}`).rejects.toThrow(
        'no key shares of the lab generate an operation token on B',
      )
  await switchOver(bookWith(2, true), 'A', 'B')
  await expect(activate(bookWith(0, true), 'A', 'D', 'dr')).rejects.toThrow('no valid token and no valid keys for A')
  expect(await modesOf(lab, 'dr')).toEqual(['A primary', 'B secondary', 'C disabled', 'D disabled'])
})

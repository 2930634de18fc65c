import { expect, it } from 'vitest'
import { InProcessLab } from '../../../src/lab/library/in-process-lab.js'
import type { LabEvent } from '../../../src/lab/events/event.js'
import { openInProcessLab } from '../../../src/lab/live/in-process-driver.js'
import { failOver } from '../../../src/lab/operations/failover.js'
import { rejoin } from '../../../src/lab/operations/operations.js'
import { findTopology } from '../../../src/lab/topology/catalogue.js'

const topology = findTopology('pr-dr')
if (!topology) throw new Error('no topology')

const TIMEOUT_MS = 20_000

it('all lab operations work on a lab in one process', async () => {
  await using inProcess = await InProcessLab.start(topology, { seed: 1 })
  await using lab = openInProcessLab(inProcess)
  const told: LabEvent[] = []
  const unsubscribe = lab.events.subscribe((event) => void told.push(event))

  // Clusters with a root token, and one without.
  await (await lab.root('A')).write('sys/mounts/kv', { type: 'kv' })
  await (await lab.root('A')).write('kv/a', { word: 'kept' })
  await expect(lab.root('B')).rejects.toThrow('B is a DR secondary: it accepts no token')
  expect((await lab.anonymous('B').send('GET', 'sys/health')).status).toBe(472)
  await expect(lab.root('Q')).rejects.toThrow('has no cluster "Q"; it has A, B, C')

  // A link is cut and healed.
  const fault = await lab.setFault({ between: ['A', 'C'], isOneWay: false, fault: { name: 'partition' } })
  expect(await lab.faults()).toEqual([fault])
  expect(await lab.heal([fault.id])).toEqual([fault])
  expect(await lab.faults()).toEqual([])
  await expect(lab.setFault({ between: ['A', 'Q'], isOneWay: false, fault: { name: 'down' } })).rejects.toThrow('"Q"')

  // A fails over with the operations of the commands; the root token follows.
  await inProcess.converged()
  expect(await lab.work('crash', 'A', TIMEOUT_MS)).toBe('cluster A was killed')
  const lines: string[] = []
  const book = lab.runbook({
    timeoutMs: TIMEOUT_MS,
    onProgress: () => undefined,
    onCall: (line) => void lines.push(line),
  })
  await failOver(book, { lost: 'A', to: 'B', isForced: true, acceptLoss: 0 })
  expect(lines.at(-1)).toContain('sys/replication/dr/secondary/promote')
  expect(await (await lab.root('B')).read('kv/a')).toMatchObject({ data: { word: 'kept' } })
  await lab.work('start', 'A', TIMEOUT_MS)
  await rejoin(book, 'A', 'B')

  await lab.events.append({ kind: 'drill', details: { step: 'the end' } })
  unsubscribe()
  await lab.events.append({ kind: 'drill', details: { step: 'nobody hears it' } })
  const own = told.filter(({ kind }) => kind === 'drill')
  expect(own.map(({ lab: name, details }) => [name, details])).toEqual([['pr-dr', { step: 'the end' }]])
  expect(told.map(({ id }) => id)).toEqual([...told.keys()].map((index) => index + 1))
})

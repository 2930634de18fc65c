import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createSeededRandom } from '../../src/base/random.js'
import { clientOf } from '../../src/lab/model/cluster.js'
import { statusOf } from '../../src/lab/requests/replication.js'
import { LabHome } from '../support/lab-home.js'
import type { Program } from '../support/program.js'
import { until } from '../support/until.js'

const clientIn = (home: LabHome, lab: string, name: string) => {
  const { clusters } = home.record(lab)
  const found = clusters.find((cluster) => cluster.name === name)
  if (!found) throw new Error(`no cluster ${name}`)
  const rootToken = found.rootToken || (clusters.find((cluster) => cluster.rootToken !== '')?.rootToken ?? '')
  return clientOf({ ...found, rootToken })
}

const write = async (home: LabHome, lab: string, cluster: string, secret: string, word: string) => {
  const client = clientIn(home, lab, cluster)
  await client.write(secret, { word }).finally(() => client.close())
}

const read = async (home: LabHome, lab: string, cluster: string, secret: string): Promise<unknown> => {
  const client = clientIn(home, lab, cluster)
  const { json } = await client.send('GET', secret).finally(() => client.close())
  return (json?.data as { word?: unknown } | undefined)?.word
}

const rootOf = async (home: LabHome, lab: string, cluster: string, kind: 'dr' | 'performance') => {
  const client = clientIn(home, lab, cluster)
  return (await statusOf(client, kind).finally(() => client.close())).merkle_root
}

const enableKv = async (home: LabHome, lab: string) => {
  const client = clientIn(home, lab, 'A')
  await client.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } }).finally(() => client.close())
}

it('a snapshot restores a lab at other ports beside the first lab', { timeout: 600_000 }, async () => {
  await using home = new LabHome()
  expect((await home.run('up', 'pr-dr', '--ports', 'random', '--shamir', '3/2')).status).toBe(0)
  await enableKv(home, 'default')
  await write(home, 'default', 'A', 'kv/a', 'saved')
  await until(async () => (await read(home, 'default', 'C', 'kv/a')) === 'saved')
  expect((await home.run('fault', 'latency', 'A', 'C', '20ms')).status).toBe(0)
  const saved = await home.run('snapshot', 'save', 'one')
  expect(saved).toMatchObject({ status: 0, stderr: expect.stringMatching(/writes were paused for \d+ ms/) })
  expect((await home.run('snapshot', 'save', 'one')).status).toBe(5)
  await write(home, 'default', 'A', 'kv/a', 'later')

  expect((await home.run('snapshot', 'load', 'one', '--name', 'two')).status).toBe(0)
  expect((await home.run('fault', 'ls', '--name', 'two')).stdout).toContain('latency 20 ms')
  expect((await home.run('heal', '--all', '--name', 'two')).status).toBe(0)
  expect(await read(home, 'two', 'C', 'kv/a')).toBe('saved')
  await write(home, 'two', 'A', 'kv/b', 'new')
  await until(async () => (await read(home, 'two', 'C', 'kv/b')) === 'new')
  await until(async () => (await rootOf(home, 'two', 'A', 'dr')) === (await rootOf(home, 'two', 'B', 'dr')))
  expect(await rootOf(home, 'two', 'A', 'performance')).toBe(await rootOf(home, 'two', 'C', 'performance'))
  // The labs are independent: neither has the writes of the other.
  await write(home, 'default', 'A', 'kv/c', 'of the first')
  await until(async () => (await read(home, 'default', 'C', 'kv/c')) === 'of the first')
  expect(await read(home, 'two', 'C', 'kv/c')).toBeUndefined()
  expect(await read(home, 'default', 'C', 'kv/b')).toBeUndefined()

  expect((await home.run('crash', 'A', '--name', 'two')).status).toBe(0)
  expect((await home.run('failover', 'A', 'B', '--force', '--name', 'two')).status).toBe(0)
  await write(home, 'two', 'B', 'kv/d', 'after the failover')
  await until(async () => (await read(home, 'two', 'C', 'kv/d')) === 'after the failover')
  expect((await home.run('start', 'A', '--name', 'two')).status).toBe(0)
  expect((await home.run('rejoin', 'A', 'B', '--name', 'two')).status).toBe(0)
  expect((await home.run('wait', '--for', 'replicated', '--name', 'two')).status).toBe(0)

  // A loaded snapshot can be saved and loaded again, even after a failover.
  const file = path.join(home.directory, 'moved.snapshot')
  expect((await home.run('snapshot', 'save', file, '--name', 'two')).status).toBe(0)
  expect((await home.run('down', 'two')).status).toBe(0)
  expect((await home.run('up', '--snapshot', file, '--name', 'three', '--ports', 'random')).status).toBe(0)
  await write(home, 'three', 'B', 'kv/e', 'moved twice')
  await until(async () => (await read(home, 'three', 'C', 'kv/e')) === 'moved twice')
  await until(async () => (await rootOf(home, 'three', 'A', 'dr')) === (await rootOf(home, 'three', 'B', 'dr')))

  const removed = await home.run('snapshot', 'remove', 'one')
  expect(removed).toMatchObject({ status: 0, stderr: expect.stringContaining('one.snapshot and its key') })
  expect(await home.run('snapshot', 'remove', 'one')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('there is no snapshot'),
  })
  const other = path.join(home.directory, 'other.snapshot')
  writeFileSync(other, 'of something else')
  expect((await home.run('snapshot', 'remove', other)).status).toBe(1)
  expect((await home.run('snapshot', 'remove', file)).status).toBe(0)
  expect([other, file, `${file}.key`].map((one) => existsSync(one))).toEqual([true, false, false])
})

it('reset returns a lab to its start after faults, crashes and a failover', { timeout: 600_000 }, async () => {
  await using home = new LabHome()
  expect((await home.run('up', 'pr-dr', '--ports', 'random', '--tls', '--seal', 'auto')).status).toBe(0)
  await enableKv(home, 'default')
  await write(home, 'default', 'A', 'kv/a', 'gone')
  expect((await home.run('fault', 'partition', 'A', 'C')).status).toBe(0)
  expect((await home.run('pause', 'C')).status).toBe(0)
  expect((await home.run('crash', 'A')).status).toBe(0)
  expect((await home.run('failover', 'A', 'B', '--force')).status).toBe(0)

  const reset = await home.run('reset', '--json')
  expect(reset).toMatchObject({ status: 0, stderr: expect.stringContaining('was reset to its state at 2') })
  expect(JSON.parse(reset.stdout)).toEqual({
    lab: 'default',
    savedAt: expect.stringMatching(/^2/),
    tookMs: expect.any(Number),
  })
  expect(await home.run('status')).toMatchObject({ status: 0, stderr: '' })
  expect(await read(home, 'default', 'A', 'kv/a')).toBeUndefined()
  await enableKv(home, 'default')
  await write(home, 'default', 'A', 'kv/b', 'again')
  await until(async () => (await read(home, 'default', 'C', 'kv/b')) === 'again')
  expect((await home.run('crash', 'A')).status).toBe(0)
  expect((await home.run('failover', 'A', 'B', '--force')).status).toBe(0)
  expect(await read(home, 'default', 'B', 'kv/b')).toBe('again')
})

it('a snapshot keeps a stopped server stopped and a sealed server sealed', { timeout: 600_000 }, async () => {
  await using home = new LabHome()
  expect((await home.run('up', 'pr-dr', '--ports', 'random')).status).toBe(0)
  await enableKv(home, 'default')
  await write(home, 'default', 'A', 'kv/a', 'kept')
  await until(async () => (await read(home, 'default', 'C', 'kv/a')) === 'kept')
  expect((await home.run('crash', 'A')).status).toBe(0)
  expect((await home.run('seal', 'C')).status).toBe(0)
  expect((await home.run('snapshot', 'save', 'odd')).status).toBe(0)
  expect((await home.run('down')).status).toBe(0)
  expect((await home.run('snapshot', 'load', 'odd')).status).toBe(0)
  const { stderr } = await home.run('status')
  expect(stderr).toContain('A is stopped')
  expect(stderr).toContain('C is sealed')
  expect((await home.run('start', 'A')).status).toBe(0)
  expect((await home.run('unseal', 'C')).status).toBe(0)
  expect((await home.run('wait', '--for', 'replicated')).status).toBe(0)
  expect(await read(home, 'default', 'C', 'kv/a')).toBe('kept')
})

it('a load of a damaged snapshot starts nothing, and a killed load leaves no partial lab', {
  timeout: 600_000,
}, async () => {
  await using home = new LabHome()
  const seed = Date.now() % 2 ** 31
  console.info(`lab-snapshots: seed ${seed}`)
  const random = createSeededRandom(String(seed))
  // Interrupts a command at a random moment. No wait depends on this time.
  const atAnyMoment = async (command: Program, withinMs: number) => {
    await Promise.race([setTimeout(random.bytes(2).readUInt16BE() % withinMs), command.exit])
    command.signal(random.bytes(1).readUInt8() % 2 === 0 ? 'SIGKILL' : 'SIGINT')
    await command.end()
  }
  expect((await home.run('up', 'dr', '--ports', 'random')).status).toBe(0)
  const snapshots = path.join(home.directory, 'understudy', 'snapshots')
  expect((await home.run('snapshot', 'save', 'good')).status).toBe(0)
  const good = path.join(snapshots, 'good.snapshot')
  const torn = path.join(home.directory, 'torn.snapshot')
  writeFileSync(torn, readFileSync(good).subarray(0, -7))
  writeFileSync(`${torn}.key`, readFileSync(`${good}.key`))
  const before = home.servers().sort()
  expect(await home.run('up', '--snapshot', torn, '--name', 'two')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('is damaged: it is truncated'),
  })
  expect(await home.run('snapshot', 'load', torn)).toMatchObject({ status: 1 })
  expect(await home.run('snapshot', 'show', torn)).toMatchObject({
    status: 1,
    stdout: '',
    stderr: expect.stringContaining('is damaged: it is truncated'),
  })
  const shown = await home.run('snapshot', 'show', 'good', '-o', 'json')
  expect([shown.status, JSON.parse(shown.stdout)]).toEqual([
    0,
    expect.objectContaining({ lab: 'default', check: 'whole' }),
  ])
  expect([home.servers().sort(), home.left()]).toEqual([before, ['default']])

  for (let round = 0; round < 6; round++) {
    await atAnyMoment(home.begin('snapshot', 'save', `killed-${round}`), 1000)
    const { stdout } = await home.run('snapshot', 'list', '--json')
    for (const one of JSON.parse(stdout) as { problem?: string; key: string }[]) {
      expect([one.problem, existsSync(one.key)]).toEqual([undefined, true])
    }
    await atAnyMoment(home.begin('snapshot', 'load', 'good'), 1500)
  }
  // Writes continue without intervention, and repeating an interrupted command completes it.
  const last = await home.run('snapshot', 'load', 'good')
  expect(last, last.stderr).toMatchObject({ status: 0 })
  expect((await home.run('status')).status).toBe(0)
  await enableKv(home, 'default')
  await write(home, 'default', 'A', 'kv/a', 'works')
  await until(async () => (await rootOf(home, 'default', 'A', 'dr')) === (await rootOf(home, 'default', 'B', 'dr')))
  expect((await home.run('snapshot', 'save', 'last')).status).toBe(0)
  expect(readdirSync(snapshots).filter((name) => !/^[\w-]+\.snapshot(\.key)?$/.test(name))).toEqual([])
  expect(readdirSync(path.join(home.labs, 'default')).filter((name) => /image|draft/.test(name))).toEqual([])
  for (const name of ['bad/name', '../bad.snapshot/x'])
    expect(await home.run('snapshot', 'save', name), name).toMatchObject({ status: 1, stdout: '' })
  expect((await home.run('down')).status).toBe(0)
})

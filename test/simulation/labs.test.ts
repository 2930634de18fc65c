import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, vi } from 'vitest'
import { LIMITS } from '../../src/base/limits.js'
import { nextTurn } from '../../src/base/turn.js'
import { ApiUnreachable, LabError, startLab, type Topology } from '../../src/index.js'
import { MemoryDisk } from '../../src/storage/engine/memory-engine.js'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

/** A complete test of a user, from its first call to its last. */
const runUserTest = async (seed: number) => {
  await using lab = await startLab('dr', { simulated: true, seed })
  await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
  await Promise.all(Array.from({ length: 5 }, (_, n) => lab.A.client.write(`kv/${n}`, { n })))
  lab.link('A', 'B').partition()
  await lab.A.client.write('kv/late', { word: 'late' })
  lab.link('A', 'B').heal()
  await lab.converged()
  return lab.history
}

/** Initializes with several key shares, whose number is drawn. */
const keyShares = async (seed: number) => {
  await using lab = await startLab('single', { simulated: true, seed, shares: 5, threshold: 3 })
  return { keys: lab.A.unsealKeys, history: lab.history }
}

/** Creates a user, and logs in with the correct password and with a wrong one. */
const passwords = async (seed: number) => {
  await using lab = await startLab('single', { simulated: true, seed })
  const { client } = lab.A
  await client.write('sys/auth/userpass', { type: 'userpass' })
  await client.write('auth/userpass/users/ann', { password: 'secret' })
  await client.write('auth/userpass/login/ann', { password: 'secret' })
  const { status } = await client.send('PUT', 'auth/userpass/login/ann', { body: { password: 'other' } })
  expect(status).toBe(400)
  return lab.history
}

/** Creates one key of each asymmetric type. */
const keyPairs = async (seed: number) => {
  await using lab = await startLab('single', { simulated: true, seed })
  const { client } = lab.A
  await client.write('sys/mounts/transit', { type: 'transit' })
  for (const type of ['ed25519', 'ecdsa-p256', 'ecdsa-p384', 'ecdsa-p521'])
    await client.write(`transit/keys/${type}`, { type })
  return lab.history
}

describe('a simulated lab', () => {
  it('a simulated lab draws key pairs from its seed', async () => {
    expect(await keyPairs(12)).toEqual(await keyPairs(12))
  })

  it('a simulated lab draws key shares from its seed', async () => {
    const [one, other, third] = [await keyShares(12), await keyShares(12), await keyShares(13)]
    expect(one.keys).toHaveLength(5)
    expect(one).toEqual(other)
    expect(third.keys).not.toEqual(one.keys)
  })

  it('a simulated lab creates RSA keys without delay, independent of its seed', async () => {
    await using lab = await startLab('single', { simulated: true })
    await lab.A.client.write('sys/mounts/transit', { type: 'transit' })
    await lab.A.client.write('transit/keys/rsa', { type: 'rsa-2048' })
    const { data } = await lab.A.client.write('transit/encrypt/rsa', { plaintext: 'AAAA' })
    expect(data).toMatchObject({ ciphertext: expect.stringMatching(/^vault:v1:/) })
  })

  it('no simulated time passes while a large body is read in several turns', async () => {
    await using lab = await startLab('single', { simulated: true })
    await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
    const word = 'a'.repeat(900_000)
    await lab.A.client.write('kv/large', { word })
    expect(await lab.A.client.read('kv/large')).toMatchObject({ data: { word } })
    const body = { word: 'a'.repeat(LIMITS.bodyBytesMax) }
    expect(await lab.A.client.send('PUT', 'kv/larger', { body })).toMatchObject({ status: 413 })
  })

  it('no simulated time passes while a file is read or written', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'understudy-simulated-'))
    try {
      await using lab = await startLab('single', { simulated: true })
      const { client } = lab.A
      const file = join(directory, 'audit.log')
      await client.write('sys/audit/file', { type: 'file', options: { file_path: file } })
      for (let n = 0; n < 20; n++)
        await client.write(`sys/policies/acl/p${n}`, { policy: 'path "kv/*" { capabilities = ["read"] }' })
      await client.write('sys/audit/again', { type: 'file', options: { file_path: join(directory, 'again.log') } })
      const lines = (await readFile(file, 'utf8')).trim().split('\n')
      expect(lines.filter((line) => line.includes('sys/policies/acl/p'))).toHaveLength(40)
      const body = { token: 'none', ca_file: join(directory, 'missing.pem') }
      expect(await client.send('PUT', 'sys/replication/dr/secondary/enable', { body })).toMatchObject({ status: 400 })
      expect(lab.clock.monotonic()).toBeLessThan(10_000)
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
  })

  it('a simulated lab reports a timer that throws to the waiting caller, and continues', async () => {
    await using lab = await startLab('single', { simulated: true })
    lab.clock.setTimer(100, () => {
      throw new Error('mine')
    })
    await expect(lab.clock.advance(1000)).rejects.toThrow('mine')
    expect(await lab.A.client.send('GET', 'sys/health')).toMatchObject({ status: 200 })
  })

  it('a simulated lab with passwords has the same history each time', async () => {
    expect(await passwords(11)).toEqual(await passwords(11))
  })

  it('leases of a simulated lab end after simulated time alone', async () => {
    await using lab = await startLab('single', { simulated: true })
    const { auth } = await lab.A.client.write('auth/token/create', { ttl: '30m' })
    const { client_token: token } = auth as { client_token: string }
    const own = () => lab.A.anonymous.send('GET', 'auth/token/lookup-self', { token })
    expect(await own()).toMatchObject({ status: 200 })
    await lab.clock.advance('29m')
    expect(await own()).toMatchObject({ status: 200 })
    const beforeMs = lab.clock.monotonic()
    await lab.clock.advance('31m')
    expect(lab.clock.monotonic() - beforeMs).toBeGreaterThanOrEqual(31 * 60_000)
    expect(await own()).toMatchObject({ status: 403 })
  })

  it('a cut link of a simulated lab withholds messages, and the secondary catches up after it is healed', async () => {
    await using lab = await startLab('pr', { simulated: true, seed: 2 })
    await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
    await lab.converged()
    lab.link('A', 'C').partition('A')
    await lab.A.client.write('kv/late', { word: 'late' })
    await lab.clock.advance('1m')
    expect(await lab.problems()).toContain('the link A-C has a fault')
    expect((await lab.C.client.send('GET', 'kv/late')).status).toBe(404)
    lab.link('A', 'C').heal()
    await lab.healthy()
    expect((await lab.C.client.read('kv/late')).data).toEqual({ word: 'late' })
  })

  it('a secondary of a simulated lab lags by the latency of its link', async () => {
    await using lab = await startLab('pr', { simulated: true, seed: 3 })
    await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
    await lab.converged()
    lab.link('A', 'C').setLatency(2_000, 'A')
    await lab.A.client.write('kv/late', { word: 'late' })
    await lab.clock.advance(1_500)
    expect((await lab.C.client.send('GET', 'kv/late')).status).toBe(404)
    await lab.clock.advance(1_500)
    expect((await lab.C.client.send('GET', 'kv/late')).status).toBe(200)
  })

  it('a simulated lab applies the link latency of its topology and stays healthy', async () => {
    const link = { kind: 'performance', primary: 'A', secondary: 'C', latencyMs: 500 } as const
    const topology = {
      name: 'far',
      about: 'C is far away',
      clusters: ['A', 'C'],
      links: [link],
    } as const satisfies Topology
    await using lab = await startLab(topology, { simulated: true, seed: 9 })
    await lab.healthy()
    await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
    await lab.clock.advance(400)
    expect((await lab.C.client.send('GET', 'sys/mounts')).json?.data).not.toHaveProperty('kv/')
    lab.link('A', 'C').setLatency(1_000)
    expect(await lab.problems()).toContain('the link A-C has a fault')
    lab.heal()
    await lab.converged()
    expect(await lab.problems()).toEqual([])
    expect((await lab.C.client.send('GET', 'sys/mounts')).json?.data).toHaveProperty('kv/')
  })

  it.each([1, 3] as const)('a simulated lab with %i servers per cluster fails over and back', async (nodes) => {
    await using lab = await startLab('dr', { simulated: true, seed: 4, nodes })
    await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
    await lab.A.client.write('kv/one', { n: 1 })
    await lab.converged()
    await lab.A.crash()
    expect(lab.A.isRunning).toBe(false)
    await lab.failover('A', 'B', { acceptLoss: 'any' })
    expect((await lab.B.client.read('kv/one')).data).toEqual({ n: 1 })
    await lab.B.client.write('kv/two', { n: 2 })
    await lab.A.start()
    await lab.rejoin('A', 'B')
    await lab.switchover('B', 'A')
    await lab.healthy()
    expect((await lab.A.client.read('kv/two')).data).toEqual({ n: 2 })
  })

  it('another node of a simulated lab takes over after a crash of the active node', async () => {
    await using lab = await startLab('single', { simulated: true, seed: 5, nodes: 3 })
    const before = lab.A.activeNode
    await before.crash()
    expect(await lab.A.active()).toBe(lab.A.activeNode)
    expect(lab.A.activeNode.name).not.toBe(before.name)
    expect(await lab.A.client.read('sys/mounts')).toMatchObject({ data: {} })
    await before.start()
    expect((await lab.A.stepDown()).isActive).toBe(true)
  })

  it('a simulated lab starts stopped and killed clusters again', async () => {
    await using lab = await startLab('single', { simulated: true, nodes: 3 })
    for (const end of ['stop', 'crash'] as const) {
      const ended = await lab.A[end]()
      expect(lab.A.isRunning).toBe(false)
      const { client } = await ended.start()
      expect(await client.read('sys/mounts')).toMatchObject({ data: {} })
    }
  })

  it('a simulated lab has the same history for the same seed and calls, and another for another seed', async () => {
    const [first, again, other] = [await runUserTest(6), await runUserTest(6), await runUserTest(7)]
    expect(again).toEqual(first)
    expect(first.events).toBeGreaterThan(50)
    expect(other.hash).not.toBe(first.hash)
  })

  it('the time of a simulated lab stops while no caller waits', async () => {
    await using lab = await startLab('single', { simulated: true })
    const { hash } = lab.history
    const beforeMs = lab.clock.monotonic()
    for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => void setImmediate(resolve))
    expect(lab.clock.monotonic()).toBe(beforeMs)
    expect(lab.history.hash).toBe(hash)
  })

  it('a simulated lab holds hundreds of clusters', async () => {
    const clusters = Array.from({ length: 200 }, (_, index) => `N${index}`)
    const pairs = Array.from({ length: 20 }, (_, index) => index)
    const links = pairs.map(
      (index) => ({ kind: 'dr', primary: `N${index * 2}`, secondary: `N${index * 2 + 1}` }) as const,
    )
    const topology: Topology = { name: 'many', about: 'pairs, and clusters by themselves', clusters, links }
    await using lab = await startLab(topology, { simulated: true, seed: 8 })
    await lab.clock.advance('10s')
    await lab.healthy()
    expect(await lab.cluster('N199').client.read('sys/health')).toMatchObject({ sealed: false })
  })
})

it('a program can decide at run time whether a lab is simulated', async () => {
  for (const simulated of [true, false]) {
    await using lab = await startLab('single', { simulated })
    expect('history' in lab).toBe(simulated)
    await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
  }
})

describe('a rejected call of a simulated lab', () => {
  const one: Topology = { name: 'one', about: 'one', clusters: ['A'], links: [] }
  const usage = (text: string) => expect.objectContaining({ code: 'usage', message: expect.stringContaining(text) })

  it('a simulated lab rejects options that need files, sockets or logs', async () => {
    const start = (options: object) => startLab('single', { simulated: true, ...options } as { simulated: true })
    await expect(start({ storage: 'disk' })).rejects.toEqual(usage('does not support the option "storage"'))
    for (const simulated of [1, 'yes', null])
      await expect(start({ simulated })).rejects.toEqual(usage('the option "simulated" must be true or false'))
    await expect(start({ sed: 1 })).rejects.toEqual(usage('did you mean "seed"'))
    await expect(start({ timeoutMs: 0 })).rejects.toEqual(usage('above 0'))
    await expect(startLab({ ...one, plans: { A: { tls: true } } }, { simulated: true })).rejects.toEqual(
      usage('has TLS'),
    )
    await expect(startLab({ ...one, plans: { A: { reach: 'load-balancer' } } }, { simulated: true })).rejects.toEqual(
      usage('reach "load-balancer"'),
    )
  })

  it('a simulated lab rejects invalid seeds', async () => {
    for (const none of [Number.NaN, Number.POSITIVE_INFINITY, null, {}, ''])
      await expect(startLab('single', { simulated: true, seed: none as number })).rejects.toEqual(
        usage('but must be a number or a non-empty string'),
      )
  })

  it('a simulated lab rejects invalid durations, links and latencies', async () => {
    await using lab = await startLab('dr', { simulated: true })
    await expect(lab.clock.advance('soon')).rejects.toEqual(usage('"soon" is neither a duration'))
    await expect(lab.clock.advance('31')).rejects.toEqual(usage('"31" has no unit: use 31ms or 31s'))
    for (const none of [Number.NaN, null, undefined, {}])
      await expect(lab.clock.advance(none as number)).rejects.toEqual(usage('is neither a duration'))
    for (const back of [-1, '-1m'])
      await expect(lab.clock.advance(back)).rejects.toEqual(usage(`cannot go back: ${back} is negative`))
    expect(() => lab.link('A', 'A')).toThrow(LabError)
    for (const none of [Number.NaN, Number.POSITIVE_INFINITY, -1, '80', null])
      expect(() => lab.link('A', 'B').setLatency(none as number)).toThrow(/^setLatency: ms is .*, but must be/)
    expect(() => lab.link('A', 'B').partition('C')).toThrow(LabError)
  })

  it('a simulated lab rejects features of other labs, with the reason', async () => {
    await using lab = await startLab('dr', { simulated: true, nodes: 3 })
    const untyped = (one: object) => one as Record<string, (...given: unknown[]) => unknown>
    expect(() => untyped(lab).drill?.('dr-failover')).toThrow(
      usage('a simulated lab does not support "drill": drills run'),
    )
    for (const name of ['events', 'localEvents', 'snapshot', 'reset', 'routes'])
      expect(() => untyped(lab)[name]).toThrow(usage(`a simulated lab does not support "${name}"`))
    const link = untyped(lab.link('A', 'B'))
    for (const name of ['hold', 'release', 'setFault', 'clearFaults', 'resetConnections'])
      expect(() => link[name]).toThrow(usage(`a link of a simulated lab does not support "${name}"`))
    expect(lab.node('B2')).toBe(lab.B.nodes[1])
    expect(() => lab.node('B4')).toThrow(usage('there is no node B4'))
  })

  it('a closed simulated lab releases its stored data', async () => {
    const lab = await startLab('dr', { simulated: true })
    const crash = vi.spyOn(MemoryDisk.prototype, 'crash')
    await lab.close()
    const disks = crash.mock.contexts.map((disk) => new WeakRef(disk as MemoryDisk))
    crash.mockReset().mockRestore()
    await nextTurn()
    collect()
    expect(disks.map((disk) => disk.deref())).toEqual([undefined, undefined])
    // The closed lab is still referenced, as in a test that has closed it.
    expect(lab.A.name).toBe('A')
  })

  it('a closed simulated lab rejects every call', async () => {
    const lab = await startLab('dr', { simulated: true })
    const waiting = lab.clock.advance('1h')
    await lab.close()
    const closed = { code: 'interrupted', message: 'the lab was closed' }
    await expect(waiting).rejects.toMatchObject(closed)
    await expect(lab.clock.advance('1s')).rejects.toMatchObject(closed)
    await expect(lab.A.start()).rejects.toMatchObject(closed)
    for (const one of [lab.A, lab.node('A1')]) expect(() => one.client).toThrow(expect.objectContaining(closed))
    await expect(lab.A.active()).rejects.toMatchObject(closed)
    await expect(lab.converged()).rejects.toMatchObject(closed)
  })

  it('a simulated lab rejects requests to a stopped cluster, and all requests after its close', async () => {
    const lab = await startLab('single', { simulated: true })
    const { client } = lab.A
    await lab.A.crash()
    await expect(client.read('sys/mounts')).rejects.toThrow(ApiUnreachable)
    await lab.close()
    await lab.close()
    await expect(lab.converged()).rejects.toMatchObject({ code: 'interrupted' })
  })
})

import { describe, expect, it, onTestFinished } from 'vitest'
import { prepareCopy } from '../../src/storage/shared-log/copy.js'
import { LeadershipLost, LogRefused, OutcomeUnknown } from '../../src/storage/shared-log/shared-log.js'
import { MemoryDisk, MemoryEngine } from '../../src/storage/engine/memory-engine.js'
import { ask, type EtcdProcess, freeSpace, startEtcd } from '../support/etcd.js'
import { sourceOf } from '../support/engine-source.js'
import { EtcdNode, openEtcdLog } from '../support/etcd-node.js'
import { contentOf } from '../unit/storage/node-world.js'

const never = new AbortController().signal
const startNode = (etcd: EtcdProcess, options = {}) => EtcdNode.start({ addresses: [etcd.address], ...options })

const put = (node: EtcdNode, key: string, value: Buffer | string) =>
  node.store.write((tx) => tx.put(`logical/${key}`, Buffer.from(value)))

/** Writes keys until a write fails. Resolves to the acknowledged keys and the error. */
const writeUntilRefused = async (node: EtcdNode, name: string): Promise<{ names: string[]; error: unknown }> => {
  const names: string[] = []
  for (;;) {
    const next = `${name}-${names.length}`
    try {
      await put(node, next, next)
      names.push(next)
    } catch (error) {
      return { names, error }
    }
  }
}

const missingIn = (node: EtcdNode, names: readonly string[]) =>
  names.filter((name) => node.store.get(`logical/${name}`)?.toString() !== name)

/**
 * Returns the bytes that etcd accepts until its quota is full. The hash request makes etcd flush and count all writes.
 */
const freeBytesIn = async (etcd: EtcdProcess, quota: number): Promise<number> => {
  await ask(etcd, 'maintenance/hash', {})
  return quota - Number((await ask(etcd, 'maintenance/status', {})).dbSize)
}

describe('stores over etcd', () => {
  it('stores over etcd become equal, from the log and from the image, with values beyond the message limit of etcd', async () => {
    const etcd = await startEtcd()
    const leader = await startNode(etcd, { bounds: { entriesFolded: 10 } })
    // No server listens at the first address.
    const follower = await startNode(etcd, { addresses: ['127.0.0.1:1', etcd.address] })
    await leader.lead()
    for (let i = 0; i < 30; i++) await put(leader, `k${i % 12}`, `value ${i}`)
    await put(leader, 'large', Buffer.alloc(3_500_000, 'large'))
    await put(leader, 'shrinks', Buffer.alloc(2_500_000, 'x'))
    await put(leader, 'shrinks', 'small')
    await put(leader, 'goes', Buffer.alloc(2_500_000, 'x'))
    await leader.store.write((tx) => tx.delete('logical/goes'))
    for (let i = 0; i < 40; i++) await put(leader, `k${i % 12}`, `value ${i}`)
    await expect.poll(() => follower.applied).toBe(leader.applied)
    expect(contentOf(follower.disk)).toEqual(contentOf(leader.disk))
    await expect.poll(async () => (await leader.shared.readImage(never)).position.index).toBeGreaterThan(40)
    const late = await startNode(etcd)
    expect(late.hasReadImage).toBe(true)
    await expect.poll(() => late.applied).toBe(leader.applied)
    expect(contentOf(late.disk)).toEqual(contentOf(leader.disk))
  })

  it('a store over etcd fills an empty disk although the log advances faster than it reads', async () => {
    const etcd = await startEtcd()
    const leader = await startNode(etcd, { bounds: { entriesFolded: 10 } })
    await leader.lead()
    for (let i = 0; i < 60; i++) await put(leader, `k${i % 12}`, `value ${i}`)
    const shared = await openEtcdLog({ addresses: [etcd.address] })
    const readImage = shared.readImage.bind(shared)
    let imagesRead = 0
    shared.readImage = async (signal) => {
      const image = await readImage(signal)
      imagesRead++
      for (let i = 0; i < 60; i++) await put(leader, `k${i % 12}`, `later ${i}`)
      await expect.poll(() => shared.reaches(image.position, signal)).toBe(false)
      return image
    }
    const disk = new MemoryDisk()
    await prepareCopy(sourceOf(new MemoryEngine(disk)), shared, never)
    expect(imagesRead).toBe(1)
    expect(contentOf(disk).size).toBe(contentOf(leader.disk).size)
  })

  it('a store over etcd keeps all acknowledged writes when etcd is killed, and continues after its restart', async () => {
    const etcd = await startEtcd()
    const node = await startNode(etcd)
    const other = await startNode(etcd)
    const acknowledged: string[] = []
    for (let round = 0; round < 2; round++) {
      const leadership = await node.lead()
      const writing = writeUntilRefused(node, `round-${round}`)
      await expect.poll(() => node.store.get(`logical/round-${round}-5`)).toBeDefined()
      await etcd.kill()
      const { names, error } = await writing
      expect([LeadershipLost, OutcomeUnknown].some((kind) => error instanceof kind)).toBe(true)
      expect(leadership.isHeld).toBe(false)
      acknowledged.push(...names)
      expect(missingIn(node, acknowledged)).toEqual([])
      await etcd.run()
    }
    await node.lead()
    await put(node, 'last', 'last')
    acknowledged.push('last')
    await expect.poll(() => other.applied).toBe(node.applied)
    expect(missingIn(other, acknowledged)).toEqual([])
    expect(contentOf(other.disk)).toEqual(contentOf(node.disk))
  })

  it('a store over etcd keeps its leadership and its pending writes over a short outage of etcd', async () => {
    const etcd = await startEtcd()
    const node = await startNode(etcd, { leaseMs: 60_000 })
    const leadership = await node.lead()
    await etcd.kill()
    const written = put(node, 'a', 'waited')
    await etcd.run()
    await written
    expect(leadership.isHeld).toBe(true)
    const other = await startNode(etcd)
    await expect.poll(() => other.applied).toBe(node.applied)
    expect(other.store.get('logical/a')?.toString()).toBe('waited')
  })

  it('a store over etcd rejects writes and serves reads while etcd is suspended, and accepts writes afterwards', async () => {
    const etcd = await startEtcd()
    const node = await startNode(etcd)
    const leadership = await node.lead()
    await put(node, 'a', 'a')
    etcd.signal('SIGSTOP')
    onTestFinished(async () => etcd.signal('SIGCONT'))
    await expect(put(node, 'b', 'b')).rejects.toThrow(OutcomeUnknown)
    expect(leadership.isHeld).toBe(false)
    await expect(put(node, 'c', 'c')).rejects.toThrow(LeadershipLost)
    expect(missingIn(node, ['a'])).toEqual([])
    etcd.signal('SIGCONT')
    await node.lead()
    await put(node, 'd', 'd')
    expect(missingIn(node, ['a', 'd'])).toEqual([])
    expect(node.store.get('logical/c')).toBeUndefined()
  })

  it('a store over etcd rejects writes while etcd is full, loses none, and accepts writes after space is freed', async () => {
    const etcd = await startEtcd('--quota-backend-bytes', String(6 * 1024 * 1024))
    const node = await startNode(etcd, { bounds: { entriesFolded: 4, entriesMax: 8 } })
    const leadership = await node.lead()
    const names: string[] = []
    let refusal: unknown
    while (!refusal) {
      const name = `k${names.length}`
      await node.store
        .write((tx) => {
          tx.put(`logical/${name}`, Buffer.from(name))
          tx.put('logical/filler', Buffer.alloc(50_000, names.length))
        })
        .then(
          () => names.push(name),
          (error: unknown) => {
            refusal = error
          },
        )
    }
    expect(refusal).toBeInstanceOf(LogRefused)
    expect(String(refusal)).toContain('database space exceeded')
    expect(leadership.isHeld).toBe(true)
    expect(missingIn(node, names)).toEqual([])
    await expect
      .poll(async () => {
        await freeSpace(etcd)
        return put(node, 'after', 'after').then(() => 'taken', String)
      })
      .toBe('taken')
    expect(leadership.isHeld).toBe(true)
    const other = await startNode(etcd)
    await expect.poll(() => other.applied).toBe(node.applied)
    expect(missingIn(other, [...names, 'after'])).toEqual([])
  })

  it('a store over etcd rejects a write that waits for log space if etcd has no space for the image', async () => {
    const quota = 8 * 1024 * 1024
    const etcd = await startEtcd('--quota-backend-bytes', String(quota))
    const node = await startNode(etcd, { bounds: { entriesFolded: 4, entriesMax: 4 } })
    const leadership = await node.lead()
    const part = 300_000
    while (node.applied < 3) await put(node, `k${node.applied}`, Buffer.alloc(part, node.applied))
    // Space remains for one more entry, but not for the image, which needs the space of three entries.
    for (let left = await freeBytesIn(etcd, quota); left > 3 * part; left = await freeBytesIn(etcd, quota)) {
      const value = Buffer.alloc(50_000).toString('base64')
      await ask(etcd, 'kv/put', { key: Buffer.from(`filler/${left}`).toString('base64'), value })
    }
    await put(node, 'last', Buffer.alloc(part))
    const { names, error } = await writeUntilRefused(node, 'waits')
    expect(error).toBeInstanceOf(LogRefused)
    expect(names).toEqual([])
    expect(leadership.isHeld).toBe(true)
  })

  it('a store over etcd authenticates, and authenticates again after etcd has restarted', async () => {
    const etcd = await startEtcd()
    await ask(etcd, 'auth/user/add', { name: 'root', password: 'secret' })
    await ask(etcd, 'auth/role/add', { name: 'root' })
    await ask(etcd, 'auth/user/grant', { user: 'root', role: 'root' })
    await ask(etcd, 'auth/enable', {})
    const login = { name: 'root', password: 'secret' }
    await expect(startNode(etcd, { login: { ...login, password: 'wrong' } })).rejects.toThrow('authentication failed')
    await expect(startNode(etcd)).rejects.toThrow('user name is empty')
    const node = await startNode(etcd, { login, leaseMs: 60_000 })
    await node.lead()
    await put(node, 'a', 'a')
    await etcd.kill()
    await etcd.run()
    await put(node, 'b', 'b')
    const other = await startNode(etcd, { login })
    await expect.poll(() => other.applied).toBe(node.applied)
    expect(missingIn(other, ['a', 'b'])).toEqual([])
  })
})

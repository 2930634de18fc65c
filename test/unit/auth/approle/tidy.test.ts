import { beforeEach, describe, expect, it } from 'vitest'
import { ApproleMount } from './approle-mount.js'

const MINUTE = 60_000

describe('tidy', () => {
  let approle: ApproleMount
  beforeEach(async () => {
    approle = new ApproleMount()
    await approle.makeRole('r')
    await approle.makeRole('l', { local_secret_ids: true })
  })

  const run = async () => {
    expect(await approle.write('tidy/secret-id')).toMatchObject({ status: 202 })
    await approle.harness.backend.stop?.()
  }
  const keys = async () => ({
    replicated: [...(await approle.storage.keys('secret_id/')), ...(await approle.storage.keys('accessor/'))].length,
    local: (await approle.localStorage.keys('')).length,
  })

  it('tidy answers 202 at once, and 200 while it runs', async () => {
    await approle.issue('r', { ttl: 1 })
    const first = approle.harness.write('tidy/secret-id')
    const second = approle.write('tidy/secret-id')
    expect(await first).toEqual({
      status: 202,
      mountType: '',
      warnings: [
        "Tidy operation successfully started. Any information from the operation will be printed to Vault's server logs.",
      ],
    })
    expect(await second).toEqual({ status: 200, warnings: ['Tidy operation already in progress.'] })
    await approle.harness.backend.stop?.()
    await run()
  })

  it('the tidy path rejects GET', async () => {
    expect(await approle.read('tidy/secret-id')).toMatchObject({ status: 405 })
  })

  it('tidy removes expired SecretIDs with their accessors, and nothing else', async () => {
    for (const role of ['r', 'l']) {
      await approle.issue(role, { ttl: 60 })
      await approle.issue(role, { ttl: 61 })
      await approle.issue(role)
      await approle.issue(role, { num_uses: 1 })
    }
    expect(await keys()).toEqual({ replicated: 8, local: 8 })
    approle.clock.advance(MINUTE)
    await run()
    expect(await keys()).toEqual({ replicated: 6, local: 6 })
    approle.clock.advance(1000)
    await run()
    expect(await keys()).toEqual({ replicated: 4, local: 4 })
    expect((await approle.list('role/r/secret-id')).data?.keys).toHaveLength(2)
  })

  it('tidy removes SecretIDs without accessor and accessors without SecretID', async () => {
    const kept = await approle.issue('r')
    await approle.issue('r')
    await approle.issue('r')
    const record = (key: string) => JSON.parse(String(approle.storage.get(key)))
    const others = (await approle.storage.keys('secret_id/')).filter((key) => record(key).accessor !== kept.accessor)
    const [lonely = '', gone = ''] = others
    const accessorOf = async (key: string) =>
      (await approle.storage.keys('accessor/')).find((at) => key.endsWith(record(at).key)) ?? ''
    const lost = await accessorOf(lonely)
    await approle.storage.write((tx) => {
      tx.delete(lost)
      tx.delete(gone)
    })
    await run()
    expect(await keys()).toEqual({ replicated: 2, local: 0 })
    expect(await approle.login('r', kept.secretId)).toMatchObject({ status: 200 })
  })

  it('tidy removes local SecretIDs of deleted roles', async () => {
    await approle.issue('l')
    await approle.issue('l')
    // The role is removed as if another cluster had deleted it: local data is not touched.
    await approle.storage.write((tx) => tx.delete('role/l'))
    expect((await keys()).local).toBe(4)
    await run()
    expect((await keys()).local).toBe(0)
  })

  it('tidy removes local SecretIDs of a role that was created again', async () => {
    await approle.issue('l')
    await approle.storage.write((tx) => {
      const role = JSON.parse(String(tx.get('role/l')))
      tx.put('role/l', Buffer.from(JSON.stringify({ ...role, hmacKey: 'another' })))
    })
    const kept = await approle.issue('l')
    await run()
    expect((await keys()).local).toBe(2)
    expect((await approle.list('role/l/secret-id')).data?.keys).toEqual([kept.accessor])
  })

  it('tidy removes only local data if replicated keys are read-only', async () => {
    await approle.issue('r', { ttl: 1 })
    await approle.issue('l', { ttl: 1 })
    approle.isReadOnly = true
    approle.clock.advance(1000)
    await run()
    expect(await keys()).toEqual({ replicated: 2, local: 0 })
  })

  it('tidy reads all pages of a long list', async () => {
    await Promise.all(Array.from({ length: 300 }, (_, index) => approle.issue('r', index % 2 ? { ttl: 1 } : {})))
    approle.clock.advance(1000)
    await run()
    expect(await keys()).toEqual({ replicated: 300, local: 0 })
  })

  it('tidy keeps a value that is registered again meanwhile', async () => {
    await approle.write('role/r/custom-secret-id', { secret_id: 's', ttl: 1 })
    approle.clock.advance(1000)
    const tidied = run()
    await approle.write('role/r/custom-secret-id', { secret_id: 's' })
    await tidied
    expect(await approle.login('r', 's')).toMatchObject({ status: 200 })
  })

  it('tidy survives a storage failure and can run again', async () => {
    await approle.issue('r', { ttl: 1 })
    approle.clock.advance(1000)
    approle.storage.writeError = new Error('disk full')
    await run()
    approle.storage.writeError = undefined
    await run()
    expect((await keys()).replicated).toBe(0)
  })

  it('tidy runs each minute or at the configured interval, until it is stopped', async () => {
    for (const [intervalMs, mount] of [
      [MINUTE, approle],
      [5000, new ApproleMount({ tidyIntervalMs: 5000 })],
    ] as const) {
      await mount.makeRole('r')
      const { backend } = mount.harness
      const stop = new AbortController()
      const left = async () => (await mount.storage.keys('secret_id/')).length
      backend.start?.(stop.signal)
      await mount.issue('r', { ttl: 1 })
      mount.clock.advance(intervalMs - 1)
      await backend.stop?.()
      expect(await left()).toBe(1)
      mount.clock.advance(1)
      await backend.stop?.()
      expect(await left()).toBe(0)
      stop.abort()
      await mount.issue('r', { ttl: 1 })
      mount.clock.advance(10 * intervalMs)
      await backend.stop?.()
      expect(await left()).toBe(1)
    }
  })
})

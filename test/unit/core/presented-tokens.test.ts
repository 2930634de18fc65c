import { beforeEach, describe, expect, it } from 'vitest'
import { TEAM, TokenWorld } from '../../support/token-world.js'

let world: TokenWorld
beforeEach(async () => {
  world = await TokenWorld.open()
})

it('the salt of a failed write is not cached', async () => {
  const fresh = new TokenWorld()
  fresh.storage.commitError = new Error('no space left on device')
  const failed = await Promise.allSettled([fresh.tokens.createRoot('first'), fresh.tokens.createRoot('first')])
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  fresh.storage.commitError = undefined
  const { id } = await fresh.tokens.createRoot('first')
  expect(fresh.tokens.find(id)?.isRoot).toBe(true)
  const again = await TokenWorld.open({ storage: fresh.storage })
  expect(again.tokens.find(id)?.isRoot).toBe(true)
})

describe('what tokens look like', () => {
  it('a root token is hvs. and 24 letters and digits, and its accessor 24', async () => {
    const { id, accessor } = await world.tokens.createRoot()
    expect(id).toMatch(/^hvs\.[0-9A-Za-z]{24}$/)
    expect(accessor).toMatch(/^[0-9A-Za-z]{24}$/)
    expect(world.entry(id)).toMatchObject({
      isRoot: true,
      isOrphan: true,
      path: 'auth/token/root',
      displayName: 'root',
    })
  })

  it('other service tokens are issued in the long form, and found in both forms', async () => {
    const { clientToken } = await world.create({ policies: ['default'] })
    expect(clientToken).toMatch(/^hvs\.[0-9A-Za-z_-]{91}$/)
    const entry = world.entry(clientToken)
    expect(entry.id).toMatch(/^hvs\.[0-9A-Za-z]{24}$/)
    expect(world.entry(entry.id)).toBe(entry)
    expect(world.tokens.present(entry)).toBe(clientToken)
  })

  it('a long form with one changed character is rejected', async () => {
    const { clientToken } = await world.create({ policies: ['default'] })
    for (let at = 'hvs.'.length; at < clientToken.length; at++) {
      const other = clientToken[at] === 'A' ? 'B' : 'A'
      const tampered = clientToken.slice(0, at) + other + clientToken.slice(at + 1)
      expect(world.tokens.find(tampered), `character ${at}`).toBeUndefined()
    }
    expect(world.tokens.find(clientToken)).toBeDefined()
  })

  it('a long form signed with another keyring is rejected', async () => {
    const other = await TokenWorld.open({ seed: 'other', keyring: 'other' })
    const entry = world.entry((await world.create({ policies: ['default'] })).clientToken)
    expect(world.tokens.find(other.tokens.present(entry))).toBeUndefined()
  })

  it('a text that was never a token is not found', () => {
    for (const text of [
      '',
      'x',
      'hvs.',
      'hvb.',
      'hvb.AAAA',
      `hvs.${'A'.repeat(91)}`,
      `hvs.${'A'.repeat(24)}`,
      's.abc',
      '.',
    ]) {
      expect(world.tokens.find(text), text).toBeUndefined()
    }
  })

  it('a cluster without tokens finds none', () => {
    expect(new TokenWorld({ seed: 'new' }).tokens.find(world.root)).toBeUndefined()
  })

  it('tokens and accessors of other namespaces end with the namespace ID, in every form', async () => {
    const { clientToken, accessor } = await world.create({ policies: ['default'] }, { namespace: TEAM })
    expect(clientToken).toMatch(/^hvs\.[0-9A-Za-z_-]{91}\.team1$/)
    expect(accessor).toMatch(/^[0-9A-Za-z]{24}\.team1$/)
    expect(world.entry(clientToken).namespace).toBe(TEAM)
    expect(world.tokens.findByAccessor(accessor)).toBe(world.entry(clientToken))
    const batch = await world.create({ policies: ['default'], type: 'batch' }, { namespace: TEAM })
    expect(batch.clientToken).toMatch(/^hvb\.[0-9A-Za-z_-]+\.team1$/)
    expect(world.entry(batch.clientToken).namespace).toBe(TEAM)
    expect(world.tokens.find(batch.clientToken.replace('.team1', ''))).toBeUndefined()
  })

  it('the database contains no token in plain text, not even in key names', async () => {
    const { clientToken, accessor } = await world.create({ policies: ['default'] })
    const { id } = world.entry(clientToken)
    for (const key of await world.storage.keys('')) {
      expect(key).not.toContain(id)
      expect(key).not.toContain(accessor)
    }
  })
})

describe('batch tokens', () => {
  it('a batch token is not stored and carries its own rights', async () => {
    const before = await world.keyCount()
    const { clientToken, accessor, orphan } = await world.create({ policies: ['default'], type: 'batch', ttl: '1h' })
    expect(await world.keyCount()).toBe(before)
    expect(clientToken).toMatch(/^hvb\.[0-9A-Za-z_-]{24,}$/)
    expect([accessor, orphan]).toEqual(['', false])
    expect(world.entry(clientToken)).toMatchObject({
      type: 'batch',
      policies: ['default'],
      id: clientToken,
      numUses: 0,
    })
  })

  it('an orphan batch token works on every cluster with the same keyring', async () => {
    const { clientToken } = await world.create({ policies: ['default'], type: 'batch' }, { path: 'create-orphan' })
    const secondary = await TokenWorld.open({ seed: 'secondary' })
    expect(secondary.entry(clientToken).policies).toEqual(['default'])
    const stranger = await TokenWorld.open({ seed: 'stranger', keyring: 'another' })
    expect(stranger.tokens.find(clientToken)).toBeUndefined()
  })

  it('a batch token with a parent is invalid if the parent is unknown', async () => {
    const { clientToken } = await world.create({ policies: ['default'], type: 'batch' })
    const secondary = await TokenWorld.open({ seed: 'secondary' })
    expect(world.tokens.find(clientToken)).toBeDefined()
    expect(secondary.tokens.find(clientToken)).toBeUndefined()
  })

  it('a batch token ends with its parent and at its own end', async () => {
    const parent = await world.create({ policies: ['default'], ttl: '1h' })
    const child = await world.create({ type: 'batch', ttl: '10m' }, { as: parent.clientToken })
    const brief = await world.create({ type: 'batch', ttl: '1m' }, { as: parent.clientToken })
    world.clock.advance(60_000)
    expect(world.tokens.find(brief.clientToken)).toBeUndefined()
    expect(world.tokens.find(child.clientToken)).toBeDefined()
    await world.tokens.revokeTree(world.entry(parent.clientToken))
    expect(world.tokens.find(child.clientToken)).toBeUndefined()
  })
})

describe('a disaster-recovery copy', () => {
  it('a DR copy knows the tokens of its primary once it has the records and the salt', async () => {
    const { clientToken } = await world.create({ policies: ['default'] })
    const copy = new TokenWorld({ seed: 'copy', clock: world.clock })
    expect(copy.tokens.find(clientToken)).toBeUndefined()
    await copyAll(world, copy)
    expect(copy.entry(clientToken).policies).toEqual(['default'])
    expect(copy.entry(world.root).isRoot).toBe(true)
  })

  it('a DR copy follows changed and deleted token records', async () => {
    const { clientToken } = await world.create({ policies: ['default'], num_uses: 5 })
    const copy = new TokenWorld({ seed: 'copy', clock: world.clock })
    await copyAll(world, copy)
    expect(copy.entry(clientToken).numUses).toBe(5)
    await world.tokens.use(world.entry(clientToken))
    await copyAll(world, copy)
    expect(copy.entry(clientToken).numUses).toBe(4)
    await world.tokens.revokeTree(world.entry(clientToken))
    await copyAll(world, copy)
    expect(copy.tokens.find(clientToken)).toBeUndefined()
  })
})

/** Replaces the data of the copy with that of the original. */
const copyAll = async (from: TokenWorld, to: TokenWorld): Promise<void> => {
  const keys = new Set([...(await from.storage.keys('')), ...(await to.storage.keys(''))])
  await to.storage.write((tx) => {
    for (const key of keys) {
      const value = from.storage.get(key)
      if (value) tx.put(key, value)
      else tx.delete(key)
    }
  })
}

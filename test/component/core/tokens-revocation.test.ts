import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../support/manual-clock.js'
import { TEAM, TokenWorld } from '../../support/token-world.js'

const HOUR_MS = 3_600_000

let world: TokenWorld
let before: number
beforeEach(async () => {
  world = await TokenWorld.open()
  before = await world.keyCount()
})

const child = async (parent: string): Promise<string> =>
  (await world.create({ policies: ['default'], ttl: '1h' }, { as: parent })).clientToken

const isAlive = (token: string): boolean => world.tokens.find(token) !== undefined

const putIntoCubbyhole = (token: string, name: string): Promise<void> =>
  world.storage.write((tx) => tx.put(`cubbyhole/${world.entry(token).storageId}/${name}`, Buffer.from('{}')))

describe('token revocation', () => {
  it('revocation deletes a token and its descendants with their cubbyholes and leases, and no other token', async () => {
    const parent = await child(world.root)
    const first = await child(parent)
    const grandchild = await child(first)
    const second = await child(parent)
    const beside = await child(world.root)
    for (const token of [parent, first, grandchild]) await putIntoCubbyhole(token, 'a/b')
    await world.tokens.revokeTree(world.entry(parent))
    expect([parent, first, grandchild, second].map(isAlive)).toEqual([false, false, false, false])
    expect(isAlive(beside)).toBe(true)
    await world.tokens.revokeTree(world.entry(beside))
    expect(await world.keyCount()).toBe(before)
  })

  it('revocation keeps orphans', async () => {
    const parent = await child(world.root)
    const orphan = await world.create({ policies: ['default'] }, { as: parent, path: 'create-orphan' })
    await world.tokens.revokeTree(world.entry(parent))
    expect(isAlive(orphan.clientToken)).toBe(true)
  })

  it('revocation deletes trees with 400 levels and trees with 450 children', async () => {
    const top = await child(world.root)
    let deepest = top
    for (let depth = 0; depth < 400; depth++) deepest = await child(deepest)
    const wide = await Promise.all(Array.from({ length: 450 }, () => child(top)))
    const below = await child(wide[300] ?? '')
    await world.tokens.revokeTree(world.entry(top))
    expect([deepest, below, ...wide].some(isAlive)).toBe(false)
    expect(await world.keyCount()).toBe(before)
  })

  it('revocation invalidates the complete tree in its first durable step', async () => {
    const parent = await child(world.root)
    const first = await child(parent)
    const grandchild = await child(first)
    const { writes } = world.storage
    const revoking = world.tokens.revokeTree(world.entry(parent))
    while (world.storage.writes === writes) await Promise.resolve()
    await Promise.resolve()
    await Promise.resolve()
    expect([parent, first, grandchild].map(isAlive)).toEqual([false, false, false])
    await revoking
  })

  it('the sweep completes a revocation that a crash interrupted', async () => {
    const parent = await child(world.root)
    const grandchild = await child(await child(parent))
    const write = world.storage.write.bind(world.storage)
    let left = 1
    world.storage.write = (fn) => (left-- > 0 ? write(fn) : Promise.reject(new Error('the power went off')))
    await expect(world.tokens.revokeTree(world.entry(parent))).rejects.toThrow('power')
    world.storage.write = write
    const restarted = new TokenWorld({ storage: world.storage, clock: world.clock })
    expect(restarted.tokens.find(grandchild)).toBeUndefined()
    await restarted.tokens.sweep()
    expect(await restarted.keyCount()).toBe(before)
  })

  it('an interrupted revocation stays valid after the clock moves back', async () => {
    const parent = await child(world.root)
    const first = await child(parent)
    const write = world.storage.write.bind(world.storage)
    let left = 1
    world.storage.write = (fn) => (left-- > 0 ? write(fn) : Promise.reject(new Error('the power went off')))
    await expect(world.tokens.revokeTree(world.entry(parent))).rejects.toThrow('power')
    world.storage.write = write
    const earlier = new TokenWorld({ storage: world.storage, clock: new ManualClock(world.clock.now() - HOUR_MS) })
    expect([parent, first].map((token) => earlier.tokens.find(token))).toEqual([undefined, undefined])
    await earlier.tokens.sweep()
    expect(await earlier.keyCount()).toBe(before)
  })

  it('revocation includes children that are created during it', async () => {
    const parent = await child(world.root)
    const creating = Array.from({ length: 20 }, () => child(parent).catch(() => undefined))
    const revoking = world.tokens.revokeTree(world.entry(parent))
    creating.push(...Array.from({ length: 20 }, () => child(parent).catch(() => undefined)))
    const created = await Promise.all(creating)
    await revoking
    expect(created.some((token) => token !== undefined && isAlive(token))).toBe(false)
    expect(await world.keyCount()).toBe(before)
  })

  it('revocation deletes cubbyhole entries that are written during it', async () => {
    const token = await child(world.root)
    await putIntoCubbyhole(token, 'early')
    const late = putIntoCubbyhole(token, 'late')
    await Promise.all([world.tokens.revokeTree(world.entry(token)), late])
    expect(await world.keyCount()).toBe(before)
  })

  it('revocation can be repeated, and can run twice at the same time', async () => {
    const parent = await child(world.root)
    await child(parent)
    const entry = world.entry(parent)
    await Promise.all([world.tokens.revokeTree(entry), world.tokens.revokeTree(entry)])
    await world.tokens.revokeTree(entry)
    expect(await world.keyCount()).toBe(before)
  })
})

describe('revocation of a single token', () => {
  it('revocation of a single token makes its children orphans, which keep their own children', async () => {
    const parent = await child(world.root)
    const first = await child(parent)
    const grandchild = await child(first)
    await world.tokens.revokeAndOrphan(world.entry(parent))
    expect([parent, first, grandchild].map(isAlive)).toEqual([false, true, true])
    expect(world.entry(first)).toMatchObject({ isOrphan: true, parent: '' })
    expect(world.entry(grandchild).isOrphan).toBe(false)
    await world.tokens.revokeTree(world.entry(first))
    expect(await world.keyCount()).toBe(before)
  })

  it('revocation of a single token prevents the creation of children during it', async () => {
    const parent = await child(world.root)
    const first = await child(parent)
    const revoking = world.tokens.revokeAndOrphan(world.entry(parent))
    const late = child(parent)
    await expect(late).rejects.toThrow('permission denied')
    await revoking
    expect(isAlive(first)).toBe(true)
  })
})

describe('revocation by path', () => {
  it('revocation by path deletes the tokens created there, and no others', async () => {
    const [one, two] = await Promise.all([world.login(), world.login()])
    const elsewhere = await world.create({ policies: ['default'] })
    await world.tokens.revokeByPathPrefix('root', 'auth/approle')
    expect([one.auth, two.auth, elsewhere].map(({ clientToken }) => isAlive(clientToken))).toEqual([false, false, true])
    await world.tokens.revokeByPathPrefix('root', 'auth/tok')
    expect(isAlive(elsewhere.clientToken)).toBe(true)
    await world.tokens.revokeByPathPrefix('root', '')
    expect(isAlive(elsewhere.clientToken)).toBe(false)
    expect(isAlive(world.root)).toBe(true)
    expect(await world.keyCount()).toBe(before)
  })
})

describe('tokens of a removed mount', () => {
  it('tokens of a removed mount and their children stop working at once', async () => {
    const { auth } = await world.login()
    const below = await world.create({ policies: ['default'] }, { as: auth.clientToken })
    world.unmounted.add('auth_approle_1')
    expect([auth.clientToken, below.clientToken, world.root].map(isAlive)).toEqual([false, false, true])
  })

  it('tokens of a deleted namespace stop working', async () => {
    const { auth } = await world.login({}, {}, TEAM)
    expect(isAlive(auth.clientToken)).toBe(true)
    world.deletedNamespaces.add(TEAM.id)
    expect(isAlive(auth.clientToken)).toBe(false)
  })

  it('removal of stray tokens deletes those of a removed mount and keeps those of its replacement', async () => {
    const before = await world.keyCount()
    for (let count = 0; count < 70; count++) await world.login()
    world.unmounted.add('auth_approle_1')
    const { auth } = await world.login({}, { accessor: 'auth_approle_2' })
    await world.tokens.removeStray('root', 'auth/approle/')
    expect(isAlive(auth.clientToken)).toBe(true)
    await world.tokens.revokeTree(world.entry(auth.clientToken))
    expect(await world.keyCount()).toBe(before)
  })
})

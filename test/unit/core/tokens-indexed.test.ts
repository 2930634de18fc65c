import { beforeEach, describe, expect, it } from 'vitest'
import { decodeToken, encodeToken } from '../../../src/core/tokens/token-codec.js'
import { hmacSha256Hex } from '../../../src/crypto/digest.js'
import { TEAM, TokenWorld } from '../../support/token-world.js'
import { ROOT_NAMESPACE } from '../../../src/logical/request.js'

const HOUR_MS = 3_600_000
const ID = 'hvs.AAAAAAAAAAAAAAAAAAAAAAAA'
const ACCESSOR = 'BBBBBBBBBBBBBBBBBBBBBBBB'
const PATH = 'auth/approle/login'

let world: TokenWorld
let before: number
beforeEach(async () => {
  world = await TokenWorld.open()
  before = await world.keyCount()
})

const salt = (): Buffer => {
  const found = world.storage.get('sys/token/salt')
  if (!found) throw new Error('no salt')
  return found
}

/**
 * Stores a login in the format of earlier versions: a record with field names, and index rows with encrypted values.
 */
const storeEarlier = async (): Promise<string> => {
  const now = world.clock.now()
  const storageId = `h${hmacSha256Hex(salt(), ID)}`
  const record = {
    id: ID,
    accessor: ACCESSOR,
    namespaceId: 'root',
    policies: ['default'],
    path: PATH,
    displayName: 'approle',
    meta: { role_name: 'r' },
    entityId: '',
    parent: '',
    numUses: 0,
    createdAtMs: now,
    ttlSeconds: 3600,
    leaseTtlSeconds: 3600,
    expiresAtMs: now + HOUR_MS,
    lastRenewalMs: null,
    explicitMaxTtlSeconds: 0,
    periodSeconds: 0,
    role: '',
    boundCidrs: [],
    isRenewable: true,
    sweepAtMs: now + HOUR_MS,
    login: { policies: ['default'], internal: { role_name: 'r' } },
    mountAccessor: 'auth_approle_1',
  }
  const ciphertext = Buffer.from('01000000015c3f', 'hex')
  await world.storage.write((tx) => {
    tx.put(`sys/token/id/${storageId}`, Buffer.from(JSON.stringify(record)))
    const row = JSON.stringify({ accessor: ACCESSOR, token: storageId })
    tx.put(`sys/token/accessor/root/${hmacSha256Hex(salt(), ACCESSOR)}`, Buffer.from(row))
    tx.put(`sys/expire/id/root/${PATH}/${storageId}`, ciphertext)
    tx.put(`sys/expire/time/${String(now + HOUR_MS).padStart(15, '0')}.${storageId}`, ciphertext)
  })
  return storageId
}

const listed = (folder: string) => world.tokens.listLeases(ROOT_NAMESPACE.id, folder)

describe('a token that an earlier version has stored', () => {
  it('a token of an earlier version is found by id, long form, accessor and lease', async () => {
    const storageId = await storeEarlier()
    const entry = world.entry(ID)
    expect(entry).toMatchObject({ id: ID, accessor: ACCESSOR, storageId, displayName: 'approle' })
    expect(world.tokens.find(world.tokens.present(entry))).toBe(entry)
    expect(world.tokens.findByAccessor(ACCESSOR)).toBe(entry)
    expect(world.tokens.findStored(storageId)?.expiresAtMs).toBe(world.clock.now() + HOUR_MS)
  })

  it('a token of an earlier version is listed beside those of this version', async () => {
    const storageId = await storeEarlier()
    const { auth } = await world.login({ ttlSeconds: 3600 })
    const later = world.entry(auth.clientToken)
    expect(await listed('')).toEqual(['auth/'])
    expect(await listed('auth/')).toEqual(['approle/'])
    expect(await listed(PATH)).toEqual([storageId, later.storageId].sort())
    expect(await world.tokens.listAccessors('root')).toEqual(expect.arrayContaining([ACCESSOR, auth.accessor]))
    expect(await world.tokens.listAccessors(TEAM.id)).toEqual([])
    expect(await world.tokens.count()).toBe(3)
  })

  it('a token of an earlier version renews and expires without a trace', async () => {
    await storeEarlier()
    world.logins.set(PATH, () => ({ ttlSeconds: 0 }))
    world.clock.advance(1000)
    await world.tokens.renew(world.entry(ID), { incrementSeconds: 7200, presented: ID, request: {} })
    expect(await world.keyCount()).toBe(before + 4)
    world.clock.advance(2 * HOUR_MS - 1)
    await world.tokens.sweep()
    expect(world.tokens.find(ID)).toBeDefined()
    world.clock.advance(1)
    await world.tokens.sweep()
    expect(await world.keyCount()).toBe(before)
  })

  it('a revocation by prefix includes tokens of an earlier version', async () => {
    await storeEarlier()
    const { auth } = await world.login()
    const beside = await world.create({ policies: ['default'], ttl: '1h' })
    await world.tokens.revokeByPathPrefix(ROOT_NAMESPACE.id, 'auth/approle')
    expect([ID, auth.clientToken].map((token) => world.tokens.find(token))).toEqual([undefined, undefined])
    expect(world.tokens.find(beside.clientToken)).toBeDefined()
    expect(await world.keyCount()).toBe(before + 3)
  })
})

describe('a token with a chosen id', () => {
  it('a token with a chosen id has another accessor after it is created again', async () => {
    const make = () => world.create({ id: 'mine', policies: ['default'], ttl: '1h' })
    const first = await make()
    await world.tokens.revokeTree(world.entry('mine'))
    expect(await world.keyCount()).toBe(before)
    const second = await make()
    expect(second.accessor).not.toBe(first.accessor)
    expect(world.tokens.findByAccessor(first.accessor)).toBeUndefined()
    expect(world.tokens.findByAccessor(second.accessor)).toBe(world.entry('mine'))
  })

  it('an accessor or a storage id is no valid token', async () => {
    const { auth } = await world.login()
    const { storageId } = world.entry(auth.clientToken)
    for (const id of [auth.accessor, storageId, ACCESSOR]) expect(world.tokens.find(id)).toBeUndefined()
    await storeEarlier()
    const { storageId: earlier } = world.entry(ID)
    for (const id of [ACCESSOR, earlier]) expect(world.tokens.find(id)).toBeUndefined()
  })
})

describe('the token of a login', () => {
  it('the token of a login takes one record of under 400 bytes and one expiration row', async () => {
    const { auth } = await world.login()
    expect(await world.keyCount()).toBe(before + 2)
    const { storageId } = world.entry(auth.clientToken)
    expect(world.storage.get(`sys/token/id/${storageId}`)?.length).toBeLessThan(400)
    const rows = await world.storage.keys('sys/expire/')
    expect(rows.map((key) => world.storage.get(key)?.length)).toEqual([1])
  })

  it('the token of a login in a namespace is stored under the path of that namespace alone', async () => {
    const { auth } = await world.login({}, {}, TEAM)
    const { storageId } = world.entry(auth.clientToken)
    expect(await world.tokens.listLeases(TEAM.id, PATH)).toEqual([storageId])
    expect(await listed('')).toEqual([])
    expect(auth.accessor).toMatch(/^[0-9A-Za-z]{24}\.team1$/)
    await world.tokens.revokeByPathPrefix(ROOT_NAMESPACE.id, 'auth')
    expect(world.tokens.find(auth.clientToken)).toBeDefined()
    await world.tokens.revokeByPathPrefix(TEAM.id, 'auth')
    expect(world.tokens.find(auth.clientToken)).toBeUndefined()
  })

  it('a stored token decodes to what was encoded', async () => {
    const { auth } = await world.login({ numUses: 3 })
    const bytes = world.storage.get(`sys/token/id/${world.entry(auth.clientToken).storageId}`)
    if (!bytes) throw new Error('no record')
    const record = decodeToken(bytes)
    for (const changed of [record, { ...record, isClosing: true }, { ...record, isIndexed: true }]) {
      expect(decodeToken(encodeToken(changed))).toEqual(changed)
    }
  })

  it('a token record of a later version is rejected', () => {
    expect(() => decodeToken(Buffer.from('[2,"id"]'))).toThrow('a token has format 2 of a later version')
  })
})

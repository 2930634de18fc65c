import { beforeEach, describe, expect, it } from 'vitest'
import { LeaseIssuer } from '../../../src/core/tokens/lease-issuer.js'
import { leasePaths } from '../../../src/core/system/lease-paths.js'
import type { Backend } from '../../../src/logical/backend.js'
import { dispatch } from '../../../src/logical/dispatch.js'
import { LogicalError } from '../../../src/logical/errors.js'
import type { JsonObject } from '../../../src/logical/json.js'
import { type LeaseGrant, type NamespaceRef, type Response, ROOT_NAMESPACE } from '../../../src/logical/request.js'
import { makeRequest, refusal } from '../../support/backend-harness.js'
import { TEAM, TokenWorld } from '../../support/token-world.js'

/** Leases of secrets, with an engine whose secrets are numbers. */

const ACCESSOR = 'engine_1'
const PATH = 'engine/creds/app'
const HOUR_MS = 3_600_000

let world: TokenWorld
let system: Backend
let issuer: LeaseIssuer
let secrets: Set<number>
let last: number
/** The error of each revocation, if any. */
let failure: Error | undefined
/** The error of each renewal, if any. */
let renewalFailure: Error | undefined
/** What each revocation waits for. */
let gate: Promise<unknown> | undefined

beforeEach(async () => {
  world = await TokenWorld.open()
  system = { type: 'system', paths: leasePaths(world) }
  issuer = new LeaseIssuer(world)
  secrets = new Set()
  last = 0
  failure = undefined
  renewalFailure = undefined
  gate = undefined
  world.mounts.set(ACCESSOR, MOUNT)
})

const MOUNT = {
  view: { accessor: ACCESSOR, defaultLeaseTtlSeconds: 3600, maxLeaseTtlSeconds: 7200 },
  backend: {
    async renewLease(_secret: unknown, increment: number) {
      if (renewalFailure) throw renewalFailure
      return { ttlSeconds: increment || 3600, warnings: ['renewed'] }
    },
    async revokeLease({ internal }: { internal: JsonObject }) {
      await gate
      if (failure) throw failure
      secrets.delete(internal.number as number)
    },
  },
}

interface Wanted extends Partial<LeaseGrant> {
  readonly as?: string
  readonly path?: string
  readonly namespace?: NamespaceRef
}

/** Creates a secret, and its lease for the token `as`. */
const issue = async ({ as = world.root, path = PATH, namespace = ROOT_NAMESPACE, ...more }: Wanted = {}) => {
  const request = makeRequest('read', path, {}, { namespace, token: world.entry(as) })
  const { response } = await issuer.grant(request, MOUNT, async (): Promise<{ response: Response }> => {
    secrets.add(++last)
    return { response: { data: {}, lease: { ttlSeconds: 0, isRenewable: true, internal: { number: last }, ...more } } }
  })
  return { id: response.leaseId ?? '', response, number: last }
}

const call = (
  operation: 'update' | 'list' | 'read',
  path: string,
  body: JsonObject = {},
  namespace: NamespaceRef = ROOT_NAMESPACE,
) => dispatch(system, makeRequest(operation, `sys/${path}`, body, { namespace }), path)
const put = (path: string, body: JsonObject = {}) => call('update', `leases/${path}`, body)
const lookup = async (id: string) => (await put('lookup', { lease_id: id }))?.data as Record<string, unknown>
const keysAt = async (path: string) => {
  const response = await call('list', `leases/lookup/${path}/`)
  return (response?.data as { keys: string[] } | undefined)?.keys
}
const irrevocable = async (body: JsonObject = {}) =>
  (await call('read', 'leases', { type: 'irrevocable', ...body }))?.data as Record<string, unknown>
/** Lets time pass and runs the sweep until the next failure would be retried. */
const pass = async (ms: number) => {
  world.clock.advance(ms)
  await world.leases.sweep()
}

describe('a new secret', () => {
  it('a new secret has a lease below the path of its request', async () => {
    const { id, response } = await issue()
    expect(id).toMatch(/^engine\/creds\/app\/[0-9A-Za-z]{24}$/)
    expect(response).toEqual({ data: {}, leaseId: id, leaseDurationSeconds: 3600, renewable: true, lease: undefined })
    expect(await lookup(id)).toMatchObject({ id, path: PATH, renewable: true, ttl: 3600, last_renewal: null })
    expect(await keysAt('engine/creds')).toEqual(['app/'])
    expect(await keysAt(PATH)).toEqual([id.slice(PATH.length + 1)])
  })

  it.each([
    [0, 3600],
    [60, 60],
    [9000, 7200],
  ])('a secret of %d s has a lease of %d s on a mount with 3600 s and at most 7200 s', async (ttlSeconds, seconds) => {
    expect((await issue({ ttlSeconds })).response.leaseDurationSeconds).toBe(seconds)
  })

  it('a secret of a namespace has a lease with the namespace ID, which other namespaces cannot find', async () => {
    const token = await world.create({ policies: ['default'] }, { namespace: TEAM })
    const { id } = await issue({ as: token.clientToken, namespace: TEAM })
    expect(id).toMatch(/\.team1$/)
    expect((await refusal(put('lookup', { lease_id: id })))[1]).toBe('invalid lease')
    expect((await call('update', 'leases/lookup', { lease_id: id }, TEAM))?.data).toMatchObject({ id })
  })

  it('a new secret is revoked if its lease cannot be stored', async () => {
    world.storage.writeError = new Error('disk')
    await expect(issue()).rejects.toThrow('disk')
    expect(secrets).toEqual(new Set())
  })

  /** Issues a secret for a token that was revoked while the secret was created. */
  const issueForRevokedToken = async () => {
    const { clientToken } = await world.create({ policies: ['default'] })
    const entry = world.entry(clientToken)
    const owner = world.tokens.ownerOf(entry)
    await world.tokens.revokeTree(entry)
    const grant = { ttlSeconds: 0, isRenewable: true, internal: { number: 1 } }
    secrets.add(1)
    return world.leases.issue({ path: PATH, namespace: ROOT_NAMESPACE }, MOUNT, grant, owner)
  }

  it('a secret whose lease cannot be stored and that cannot be revoked is revoked by a later attempt', async () => {
    failure = new LogicalError('internal', 'the database is down')
    expect((await refusal(issueForRevokedToken()))[0]).toBe('permission-denied')
    await world.leases.sweep()
    const [name = ''] = (await keysAt(PATH)) ?? []
    expect((await refusal(put('renew', { lease_id: `${PATH}/${name}` })))[1]).toBe('lease expired')
    failure = undefined
    await pass(10_000)
    expect(secrets).toEqual(new Set())
    expect(await keysAt(PATH)).toBeUndefined()
  })

  it('a new secret is revoked if the token was revoked in the meantime, or had one use left', async () => {
    expect(await refusal(issueForRevokedToken())).toEqual(['permission-denied', 'permission denied'])
    expect(secrets).toEqual(new Set())
    const { clientToken: single } = await world.create({ policies: ['default'], num_uses: 1 })
    await world.tokens.use(world.entry(single))
    expect((await refusal(issue({ as: single })))[1]).toMatch(/^Secret cannot be returned; token had one use left/)
    expect(secrets).toEqual(new Set())
  })

  it('a mount that is being removed creates no secret', async () => {
    await world.leases.whileClosed('root', 'engine/', async () => {
      expect((await refusal(issue()))[0]).toBe('unavailable')
    })
    expect(secrets).toEqual(new Set())
    expect((await issue()).id).not.toBe('')
  })
})

describe('renewal', () => {
  it('lease renewal extends the lease of a secret, and answers with its ID', async () => {
    const { id } = await issue()
    world.clock.advance(1_800_000)
    expect(await put('renew', { lease_id: id, increment: 120 })).toEqual({
      leaseId: id,
      leaseDurationSeconds: 120,
      renewable: true,
      warnings: ['renewed'],
    })
    expect(await lookup(id)).toMatchObject({ ttl: 120, last_renewal: '2023-11-14T22:43:20.000000000Z' })
    await pass(119_000)
    expect(secrets.size).toBe(1)
    await pass(1000)
    expect(secrets.size).toBe(0)
  })

  it('lease renewal rejects an expired lease and one that is not renewable', async () => {
    const { id } = await issue({ isRenewable: false })
    const text = async () => (await refusal(put('renew', { lease_id: id })))[1]
    expect(await text()).toBe('lease is not renewable')
    world.clock.advance(HOUR_MS)
    expect(await text()).toBe('lease expired')
  })
})

describe('a renewal that fails', () => {
  it('a renewal that the engine rejects is a mistake of the caller, with its error', async () => {
    const { id } = await issue()
    renewalFailure = new LogicalError('internal', 'the database is down')
    expect(await refusal(put('renew', { lease_id: id }))).toEqual([
      'invalid-request',
      'failed to renew entry: resp: (*logical.Response)(nil) err: the database is down',
    ])
    renewalFailure = new LogicalError('read-only', 'forward')
    expect((await refusal(put('renew', { lease_id: id })))[0]).toBe('read-only')
  })

  it('a lease that is being revoked is not found by a renewal', async () => {
    const { id } = await issue()
    let release = () => {}
    gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const revoked = put('revoke', { lease_id: id, sync: true })
    expect(await refusal(put('renew', { lease_id: id }))).toEqual(['invalid-request', 'lease not found'])
    release()
    await revoked
    expect(await refusal(put('renew', { lease_id: id }))).toEqual(['invalid-request', 'lease not found'])
  })
})

describe('the lease of a batch token', () => {
  it('the lease of a batch token ends with the token, and its parent owns the lease', async () => {
    const parent = await world.create({ policies: ['default'] })
    const batch = { policies: ['default'], type: 'batch', ttl: '10m' }
    const { clientToken } = await world.create(batch, { as: parent.clientToken })
    const { id, response } = await issue({ as: clientToken })
    expect(response.leaseDurationSeconds).toBe(600)
    expect((await put('renew', { lease_id: id, increment: 3600 }))?.leaseDurationSeconds).toBe(600)
    await world.tokens.revokeTree(world.entry(parent.clientToken))
    await world.leases.sweep()
    expect(secrets.size).toBe(0)
  })
})

describe('revocation', () => {
  it('lease revocation revokes the secret before the response, or later without sync', async () => {
    const [one, two] = [await issue(), await issue()]
    expect(await put('revoke', { lease_id: one.id })).toBeUndefined()
    expect([...secrets]).toEqual([two.number])
    expect(await put(`revoke/${two.id}`, { sync: false })).toEqual({ status: 202 })
    expect(secrets.size).toBe(1)
    await world.leases.sweep()
    expect(secrets.size).toBe(0)
    expect(await keysAt('engine')).toBeUndefined()
  })

  it('lease revocation that fails keeps the lease and its expiry', async () => {
    const { id } = await issue()
    failure = new Error('the database is down')
    expect(await refusal(put('revoke', { lease_id: id }))).toEqual([
      'invalid-request',
      `failed to revoke the lease ${id}: the database is down`,
    ])
    expect(await lookup(id)).toMatchObject({ ttl: 3600 })
  })

  it('lease revocation by prefix revokes all secrets below, and reports those that remain', async () => {
    await issue()
    const other = await issue({ path: 'engine/creds/other' })
    expect(await put('revoke-prefix/engine/creds/app')).toBeUndefined()
    expect([...secrets]).toEqual([other.number])
    failure = new Error('down')
    expect((await refusal(put('revoke-prefix/engine')))[1]).toBe(
      `failed to revoke 1 leases below "engine": ${other.id}: down`,
    )
    expect(await put('revoke-force/engine')).toBeUndefined()
    expect(await keysAt('engine')).toBeUndefined()
    expect([...secrets]).toEqual([other.number])
  })

  it('lease revocation by prefix without sync continues in the background', async () => {
    await issue()
    expect(await put('revoke-prefix/engine', { sync: false })).toEqual({ status: 202 })
    expect(secrets.size).toBe(1)
    await world.leases.sweep()
    expect(secrets.size).toBe(0)
  })

  it('the end of a token revokes the secrets of the token and of its children', async () => {
    const parent = await world.create({ policies: ['default'], ttl: '30m' })
    const child = await world.create({ policies: ['default'] }, { as: parent.clientToken })
    const kept = await issue()
    await issue({ as: child.clientToken })
    await issue({ as: parent.clientToken })
    await world.tokens.revokeTree(world.entry(child.clientToken))
    await world.leases.sweep()
    expect(secrets.size).toBe(2)
    world.clock.advance(1_800_000)
    await world.tokens.sweep()
    await world.leases.sweep()
    expect([...secrets]).toEqual([kept.number])
  })

  it('a mount cannot be removed while one of its secrets cannot be revoked', async () => {
    await issue()
    failure = new Error('down')
    let isRemoved = false
    const remove = async () => {
      isRemoved = true
    }
    expect((await refusal(world.leases.whileClosed('root', 'engine/', remove)))[0]).toBe('invalid-request')
    expect(isRemoved).toBe(false)
    failure = undefined
    await world.leases.whileClosed('root', 'engine/', remove)
    expect([isRemoved, secrets.size]).toEqual([true, 0])
  })
})

describe('expiry', () => {
  it('the sweep revokes a secret in the background at the expiry of its lease', async () => {
    const stop = new AbortController()
    world.leases.start(stop.signal)
    await issue({ ttlSeconds: 60 })
    world.clock.advance(61_000)
    await expect.poll(() => secrets.size).toBe(0)
    stop.abort()
    await world.leases.stop()
  })

  it('the sweep revokes nothing while a newer primary exists', async () => {
    await issue()
    world.isFenced = true
    await pass(2 * HOUR_MS)
    expect(secrets.size).toBe(1)
    world.isFenced = false
    await pass(0)
    expect(secrets.size).toBe(0)
  })

  it('the sweep retries a failed revocation after 10 s, and doubles the pause', async () => {
    await issue()
    failure = new Error('down')
    await pass(HOUR_MS)
    failure = undefined
    await pass(9999)
    expect(secrets.size).toBe(1)
    failure = new Error('down')
    await pass(1)
    failure = undefined
    await pass(19_999)
    expect(secrets.size).toBe(1)
    await pass(1)
    expect(secrets.size).toBe(0)
    expect(await irrevocable()).toEqual({ lease_count: 0, leases: [] })
  })

  it('a lease is irrevocable after six failures, and can still be revoked by request', async () => {
    const { id } = await issue()
    failure = new Error('down')
    await pass(HOUR_MS)
    for (let attempt = 1; attempt < 6; attempt++) {
      expect(await irrevocable()).toEqual({ lease_count: 0, leases: [] })
      await pass(10_000 * 2 ** (attempt - 1))
    }
    const row = { lease_id: id, mount_id: ACCESSOR, error: 'down' }
    expect(await irrevocable()).toEqual({ lease_count: 1, leases: [row] })
    const counted = await call('read', 'leases/count', { type: 'irrevocable' })
    expect(counted?.data).toEqual({ lease_count: 1, counts: { [ACCESSOR]: 1 } })
    failure = undefined
    await pass(24 * HOUR_MS)
    expect(secrets.size).toBe(1)
    expect(await put('revoke', { lease_id: id })).toBeUndefined()
    expect([secrets.size, await irrevocable()]).toEqual([0, { lease_count: 0, leases: [] }])
  })

  it.each([
    ['the engine cannot ever revoke it', new LogicalError('invalid-request', 'no statements'), 'no statements'],
    ['its mount does not exist', undefined, 'the mount that issued the secret does not exist'],
  ])('a lease is irrevocable at once if %s', async (_name, error, text) => {
    await issue()
    if (error) failure = error
    else world.mounts.clear()
    await pass(HOUR_MS)
    expect(await irrevocable()).toMatchObject({ leases: [{ error: text }] })
  })

  it('the list of irrevocable leases has a limit, and includes child namespaces on request', async () => {
    const token = await world.create({ policies: ['default'] }, { namespace: TEAM })
    await issue()
    await issue({ ttlSeconds: 60 })
    await issue({ as: token.clientToken, namespace: TEAM })
    failure = new LogicalError('invalid-request', 'never')
    await pass(HOUR_MS)
    const list = (body: JsonObject) => call('read', 'leases', { type: 'irrevocable', ...body })
    expect((await list({}))?.data).toMatchObject({ lease_count: 2 })
    expect((await list({ include_child_namespaces: true }))?.data).toMatchObject({ lease_count: 3 })
    const limited = await list({ limit: '1' })
    expect(limited?.data).toMatchObject({ lease_count: 2, leases: [{ mount_id: ACCESSOR }] })
    expect(limited?.warnings).toEqual(['1 more leases exist. Set "limit" to a larger number or to "none".'])
    expect((await list({ limit: 'none' }))?.warnings).toBeUndefined()
    expect((await refusal(list({ limit: 'all' })))[1]).toBe('invalid "limit" value: "all"')
  })
})

it('tidy revokes the secrets of tokens that no longer exist', async () => {
  const { clientToken } = await world.create({ policies: ['default'] })
  await issue({ as: clientToken })
  const kept = await issue()
  const { storageId } = world.entry(clientToken)
  await world.storage.write((tx) => tx.delete(`sys/token/id/${storageId}`))
  await put('tidy')
  await expect.poll(() => [...secrets]).toEqual([kept.number])
})

it('a lease leaves no keys behind', async () => {
  const before = await world.keyCount()
  const { clientToken } = await world.create({ policies: ['default'] })
  const { id } = await issue({ as: clientToken })
  await put('renew', { lease_id: id })
  await world.tokens.revokeTree(world.entry(clientToken))
  await world.leases.sweep()
  expect(await world.keyCount()).toBe(before)
  expect(await world.storage.keys('sys/leased/')).toEqual([])
})

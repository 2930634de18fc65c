import { beforeEach, describe, expect, it } from 'vitest'
import { uncountedRights } from '../../../src/core/tokens/token-rights.js'
import type { JsonObject } from '../../../src/logical/json.js'
import { type NamespaceRef, type Request, ROOT_NAMESPACE } from '../../../src/logical/request.js'
import { makeRequest } from '../../support/backend-harness.js'
import { TEAM, TokenWorld } from '../../support/token-world.js'

const PROMOTE = 'sys/replication/dr/secondary/promote'
const POLICY = `path "${PROMOTE}" { capabilities = ["update"] }`

let world: TokenWorld
let rights: ReturnType<typeof uncountedRights>

beforeEach(async () => {
  world = await TokenWorld.open()
  rights = uncountedRights(world)
  for (const { id } of [ROOT_NAMESPACE, TEAM]) await world.policies.put(id, 'failover', POLICY)
})

const made = async (body: JsonObject = {}, namespace: NamespaceRef = ROOT_NAMESPACE): Promise<string> => {
  const token = { type: 'batch', policies: ['failover'], ttl: '1h', orphan: true, ...body }
  const options = namespace.id === ROOT_NAMESPACE.id ? {} : { namespace, as: world.root }
  return (await world.create(token, options)).clientToken
}

const isAllowed = (token: string, more: Partial<Request> = {}, body: JsonObject = {}): boolean =>
  rights.isOperationAllowed(token, makeRequest('update', PROMOTE, { dr_operation_token: token, ...body }, more))

describe('a batch token in the place of an operation token', () => {
  it('a batch token as operation token allows exactly the path that its policies name', async () => {
    const token = await made()
    expect(isAllowed(token)).toBe(true)
    for (const path of [`${PROMOTE}/`, `${PROMOTE}x`, 'sys/replication/dr/secondary/disable', `team/${PROMOTE}`]) {
      expect(isAllowed(token, { path }), path).toBe(false)
    }
    expect(isAllowed(token, { operation: 'read' })).toBe(false)
  })

  it('a batch token as operation token must belong to the root namespace', async () => {
    const token = await made({}, TEAM)
    expect(world.entry(token)).toMatchObject({ type: 'batch', namespace: TEAM })
    expect(isAllowed(token)).toBe(false)
    expect(isAllowed(token, { namespace: TEAM })).toBe(false)
    expect(isAllowed(await made(), { namespace: TEAM })).toBe(false)
  })

  it('a batch token as operation token works only from its bound addresses', async () => {
    const login = await world.login({ policies: ['failover'], boundCidrs: ['10.0.0.0/8'], tokenType: 'batch' })
    expect(isAllowed(login.auth.clientToken, { remoteAddress: '127.0.0.1' })).toBe(false)
    expect(isAllowed(login.auth.clientToken, { remoteAddress: '10.1.2.3' })).toBe(true)
  })

  it('a batch token as operation token ends with its ttl and with its parent', async () => {
    const token = await made()
    const parent = (await world.create({ policies: ['failover', 'default'] })).clientToken
    const child = (await world.create({ type: 'batch', policies: ['failover'], ttl: '1h' }, { as: parent })).clientToken
    expect([isAllowed(token), isAllowed(child)]).toEqual([true, true])
    await world.tokens.revokeTree(world.entry(parent))
    expect([isAllowed(token), isAllowed(child)]).toEqual([true, false])
    world.clock.advance(3_600_000)
    expect(isAllowed(token)).toBe(false)
  })

  it('a batch token as operation token obeys its policy, which need not allow the token parameter', async () => {
    await world.policies.put(
      'root',
      'careful',
      `path "${PROMOTE}" { capabilities = ["update"] allowed_parameters = { "force" = ["false"] } }`,
    )
    const token = await made({ policies: ['careful'] })
    expect(isAllowed(token)).toBe(true)
    expect(isAllowed(token, {}, { force: true })).toBe(false)
  })

  it('a service token, a root token or an empty token is never an operation token', async () => {
    const service = (await world.create({ policies: ['failover'] })).clientToken
    for (const token of [service, world.root, '', 'hvb.x', 'hvb.', 'hvs.x']) expect(isAllowed(token), token).toBe(false)
  })
})

describe('the token of a request on a DR secondary', () => {
  const require = (clientToken: string | undefined, more: Partial<Request> = {}) =>
    rights.require(makeRequest('update', PROMOTE, {}, { clientToken, ...more }))

  it('a request on a DR secondary may use any token of the root namespace whose policies allow the path', async () => {
    const service = (await world.create({ policies: ['failover'] })).clientToken
    for (const token of [service, world.root, await made()]) require(token)
    for (const token of [undefined, '', 'hvs.x', (await world.create({ policies: ['default'] })).clientToken]) {
      expect(() => require(token), String(token)).toThrow('permission denied')
    }
    expect(() => require(service, { namespace: TEAM })).toThrow('permission denied')
  })

  it('a request on a DR secondary rejects a token with limited uses', async () => {
    const limited = (await world.create({ policies: ['failover'], num_uses: 5 })).clientToken
    expect(() => require(limited)).toThrow('permission denied')
  })
})

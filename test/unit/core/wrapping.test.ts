import { beforeEach, expect, it } from 'vitest'
import { createSeededRandom } from '../../../src/base/random.js'
import { Wrapping } from '../../../src/core/wrapping/wrapping.js'
import { deriveKey } from '../../../src/crypto/digest.js'
import type { NamespaceRef } from '../../../src/logical/request.js'
import { ROOT_NAMESPACE } from '../../../src/logical/request.js'
import { createWrappingSigner } from '../../../src/core/wrapping/wrapping-signer.js'
import { refusal } from '../../support/backend-harness.js'
import { TEAM, TokenWorld } from '../../support/token-world.js'

let world: TokenWorld
let wrapping: Wrapping

beforeEach(async () => {
  world = await TokenWorld.open()
  const { tokens, storage, clock } = world
  const signer = createWrappingSigner({
    storage,
    clock,
    random: createSeededRandom('signer'),
    deriveKey: (purpose) => deriveKey(Buffer.from('keyring'), purpose),
    address: () => 'https://a:8200',
  })
  // Read-only: the tokens write the records there.
  const cubbyhole = { get: (key: string) => storage.get(`cubbyhole/${key}`) } as typeof storage
  wrapping = new Wrapping({ tokens, cubbyhole, signer, clock })
})

const keep = (namespace: NamespaceRef) =>
  wrapping.store({
    namespace,
    creationPath: 'sys/x',
    wrap: { ttlSeconds: 60, format: 'jwt' },
    status: 200,
    contentType: 'application/json',
    body: '{"word":"hidden"}',
    wrappedAccessor: '',
  })

it.each([ROOT_NAMESPACE, TEAM])('a JWT does not reveal its wrapping token: %j', async (namespace) => {
  const { token } = await keep(namespace)
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  expect(claims.jti).toMatch(namespace === TEAM ? /^hvs\.[0-9A-Za-z]{24}\.team1$/ : /^hvs\.[0-9A-Za-z]{24}$/)
  expect(world.tokens.find(claims.jti)).toBeUndefined()
  expect(await refusal(wrapping.resolve(claims.jti).then((id) => wrapping.find(id)))).toEqual([
    'invalid-request',
    'wrapping token is not valid or does not exist',
  ])
  const id = await wrapping.resolve(token)
  expect(JSON.stringify(claims)).not.toContain(id)
  const entry = wrapping.find(id)
  expect(entry.namespace).toEqual(namespace)
  expect((await wrapping.unwrap(entry, false)).body).toBe('{"word":"hidden"}')
  expect(world.tokens.find(id)).toBeUndefined()
})

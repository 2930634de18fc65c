import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject, JsonValue } from '../../../../src/logical/json.js'
import { EMPTY_TOKEN_FIELDS } from '../../../support/backend-harness.js'
import { ApproleMount } from '../../../unit/auth/approle/approle-mount.js'

const seed = Date.now() % 2 ** 31
console.info(`approle random: seed ${seed}`)

describe('CIDR blocks of SecretIDs', () => {
  const block = (minLength: number) =>
    fc
      .record({ last: fc.integer({ min: 0, max: 255 }), length: fc.integer({ min: minLength, max: 32 }) })
      .map(({ last, length }) => ({ last, length, text: `10.0.0.${last}/${length}` }))
  type Block = { last: number; length: number; text: string }

  /** Returns the last octets of the addresses in the block. */
  const inside = ({ last, length }: Block): number[] => {
    const size = 2 ** (32 - length)
    return Array.from({ length: 256 }, (_, octet) => octet).filter(
      (octet) => Math.floor(octet / size) === Math.floor(last / size),
    )
  }
  const isWithin = (child: Block, parent: Block) => inside(child).every((octet) => inside(parent).includes(octet))

  it('a role allows the blocks of a SecretID exactly if its own blocks together cover each address', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(block(24), { minLength: 1, maxLength: 4 }),
        fc.array(block(24), { minLength: 1, maxLength: 3 }),
        fc.constantFrom('cidr_list', 'token_bound_cidrs'),
        async (parents, children, field) => {
          const approle = new ApproleMount()
          const ofRole = field === 'cidr_list' ? 'secret_id_bound_cidrs' : 'token_bound_cidrs'
          await approle.makeRole('r', { [ofRole]: parents.map(({ text }) => text) })
          const { status } = await approle.write('role/r/secret-id', { [field]: children.map(({ text }) => text) })
          const covered = new Set(parents.flatMap(inside))
          const isAllowed = children.flatMap(inside).every((octet) => covered.has(octet))
          expect(status).toBe(isAllowed ? 200 : 400)
        },
      ),
      { seed, numRuns: 150 },
    )
  })

  it('the blocks of a SecretID admit exactly the addresses inside all of them', async () => {
    await fc.assert(
      fc.asyncProperty(block(24), block(24), fc.integer({ min: 0, max: 255 }), async (ofRole, own, octet) => {
        fc.pre(isWithin(own, ofRole))
        const approle = new ApproleMount()
        await approle.makeRole('r', { secret_id_bound_cidrs: ofRole.text })
        const { secretId } = await approle.issue('r', { cidr_list: own.text })
        const { status } = await approle.login('r', secretId, `10.0.0.${octet}`)
        expect(status).toBe(inside(own).includes(octet) ? 200 : 400)
      }),
      { seed, numRuns: 100 },
    )
  })
})

/** The expected properties of a role. */
type Model = Record<string, JsonValue>

const NEW_ROLE: Model = {
  bind_secret_id: true,
  local_secret_ids: false,
  secret_id_bound_cidrs: null,
  secret_id_num_uses: 0,
  secret_id_ttl: 0,
  ...EMPTY_TOKEN_FIELDS,
}

const sizes = fc.constantFrom<number>(-1, 0, 1, 60, 3600)
const blocks = fc.subarray(['10.0.0.0/8', '127.0.0.0/8', 'nowhere'])
const names = fc.subarray(['a', 'b', 'default'])
const body = fc.record(
  {
    bind_secret_id: fc.boolean(),
    secret_id_bound_cidrs: blocks,
    secret_id_num_uses: sizes,
    secret_id_ttl: sizes,
    token_bound_cidrs: blocks,
    token_explicit_max_ttl: sizes,
    token_max_ttl: sizes,
    token_no_default_policy: fc.boolean(),
    token_num_uses: sizes,
    token_period: sizes,
    period: sizes,
    policies: names,
    token_policies: names,
    token_ttl: sizes,
    token_type: fc.constantFrom('service', 'batch', 'default', 'solid'),
  },
  { requiredKeys: [] },
)

/** Returns the expected role after a write, or undefined if the write must be rejected. */
const expectedAfter = (before: Model, sent: JsonObject): Model | undefined => {
  const after: Model = { ...before, ...sent }
  for (const [old, renamed] of [
    ['period', 'token_period'],
    ['policies', 'token_policies'],
  ] as const) {
    if (sent[renamed] === undefined && sent[old] === undefined) continue
    after[renamed] = sent[renamed] ?? sent[old] ?? null
    after[old] = sent[old] === undefined ? [] : after[renamed]
    if (after[old] === 0 || (Array.isArray(after[old]) && after[old].length === 0)) delete after[old]
  }
  const number = (name: string) => Number(after[name])
  const isEmpty = (name: string) => !Array.isArray(after[name]) || after[name].length === 0
  const broken = [
    Object.values(sent).some((value) => value === 'solid' || (Array.isArray(value) && value.includes('nowhere'))),
    Object.values(sent).includes(-1),
    after.token_type === 'batch' && (number('token_num_uses') > 0 || number('token_period') > 0),
    number('token_max_ttl') > 0 && number('token_ttl') > number('token_max_ttl'),
    after.bind_secret_id === false && isEmpty('secret_id_bound_cidrs') && isEmpty('token_bound_cidrs'),
  ]
  return broken.includes(true) ? undefined : after
}

describe('AppRole roles', () => {
  it('AppRole roles match a model after random writes, and rejected writes change nothing', async () => {
    const outcomes = { taken: 0, refused: 0 }
    await fc.assert(
      fc.asyncProperty(fc.array(body, { maxLength: 12 }), async (writes) => {
        const approle = new ApproleMount()
        await approle.makeRole('r')
        let model = NEW_ROLE
        for (const sent of writes as JsonObject[]) {
          const after = expectedAfter(model, sent)
          const { status } = await approle.write('role/r', sent)
          expect(status).toBe(after ? 204 : 400)
          outcomes[after ? 'taken' : 'refused']++
          model = after ?? model
          expect((await approle.read('role/r')).data).toEqual(model)
        }
      }),
      { seed, numRuns: 150 },
    )
    expect(outcomes.taken).toBeGreaterThan(0)
    expect(outcomes.refused).toBeGreaterThan(0)
  })

  it('the property endpoints of an AppRole role match the complete role', async () => {
    const PROPERTIES = [
      'policies',
      'secret-id-num-uses',
      'secret-id-ttl',
      'token-ttl',
      'token-max-ttl',
      'token-num-uses',
      'bind-secret-id',
      'secret-id-bound-cidrs',
      'period',
    ]
    await fc.assert(
      fc.asyncProperty(fc.array(body, { maxLength: 5 }), async (writes) => {
        const approle = new ApproleMount()
        await approle.makeRole('r')
        for (const sent of writes as JsonObject[]) await approle.write('role/r', sent)
        const { data: whole = {} } = await approle.read('role/r')
        for (const property of PROPERTIES) {
          const { data = {} } = await approle.read(`role/r/${property}`)
          expect(whole).toMatchObject(data)
        }
      }),
      { seed, numRuns: 60 },
    )
  })
})

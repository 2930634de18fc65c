import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../../src/logical/json.js'
import { ApproleMount } from './approle-mount.js'

interface Row {
  readonly path: string
  readonly first: Record<string, unknown>
  readonly sent: JsonObject
  readonly shown: Record<string, unknown>
  /** The fields of the role afterwards. */
  readonly ofRole: Record<string, unknown>
  /** The error of a write without the field; null if such a write has no effect. */
  readonly missing: string | null
  readonly afterDelete: Record<string, unknown>
}

/** The per-property endpoints of the specification, and two that it does not have. */
const PROPERTIES: readonly Row[] = [
  {
    path: 'policies',
    first: { token_policies: [] },
    sent: { token_policies: ['p1', 'P2', ' p1 '] },
    shown: { token_policies: ['p1', 'p2'] },
    ofRole: { token_policies: ['p1', 'p2'] },
    missing: 'missing token_policies',
    afterDelete: { token_policies: [] },
  },
  {
    path: 'secret-id-num-uses',
    first: { secret_id_num_uses: 0 },
    sent: { secret_id_num_uses: 5 },
    shown: { secret_id_num_uses: 5 },
    ofRole: { secret_id_num_uses: 5 },
    missing: 'missing secret_id_num_uses',
    afterDelete: { secret_id_num_uses: 0 },
  },
  {
    path: 'secret-id-ttl',
    first: { secret_id_ttl: 0 },
    sent: { secret_id_ttl: '1h' },
    shown: { secret_id_ttl: 3600 },
    ofRole: { secret_id_ttl: 3600 },
    missing: 'missing secret_id_ttl',
    afterDelete: { secret_id_ttl: 0 },
  },
  {
    path: 'token-ttl',
    first: { token_ttl: 0 },
    sent: { token_ttl: '20m' },
    shown: { token_ttl: 1200 },
    ofRole: { token_ttl: 1200 },
    missing: 'missing token_ttl',
    afterDelete: { token_ttl: 0 },
  },
  {
    path: 'token-max-ttl',
    first: { token_max_ttl: 0 },
    sent: { token_max_ttl: 7200 },
    shown: { token_max_ttl: 7200 },
    ofRole: { token_max_ttl: 7200 },
    missing: 'missing token_max_ttl',
    afterDelete: { token_max_ttl: 0 },
  },
  {
    path: 'token-num-uses',
    first: { token_num_uses: 0 },
    sent: { token_num_uses: '3' },
    shown: { token_num_uses: 3 },
    ofRole: { token_num_uses: 3 },
    missing: 'missing token_num_uses',
    afterDelete: { token_num_uses: 0 },
  },
  {
    path: 'bind-secret-id',
    first: { bind_secret_id: true },
    sent: { bind_secret_id: false },
    shown: { bind_secret_id: false },
    ofRole: { bind_secret_id: false },
    missing: 'missing bind_secret_id',
    afterDelete: { bind_secret_id: true },
  },
  {
    path: 'secret-id-bound-cidrs',
    first: { secret_id_bound_cidrs: null },
    sent: { secret_id_bound_cidrs: '127.0.0.0/8, 10.0.0.1/32' },
    shown: { secret_id_bound_cidrs: ['127.0.0.0/8', '10.0.0.1/32'] },
    ofRole: { secret_id_bound_cidrs: ['127.0.0.0/8', '10.0.0.1/32'] },
    missing: null,
    afterDelete: { secret_id_bound_cidrs: null },
  },
  {
    path: 'token-bound-cidrs',
    first: { token_bound_cidrs: ['10.0.0.0/8'] },
    sent: { token_bound_cidrs: '127.0.0.1/32,10.0.0.0/8' },
    shown: { token_bound_cidrs: ['127.0.0.1', '10.0.0.0/8'] },
    ofRole: { token_bound_cidrs: ['127.0.0.1', '10.0.0.0/8'] },
    missing: null,
    afterDelete: { token_bound_cidrs: null },
  },
  {
    path: 'period',
    first: { token_period: 0 },
    sent: { token_period: '30m' },
    shown: { token_period: 1800 },
    ofRole: { token_period: 1800 },
    missing: 'missing period',
    afterDelete: { token_period: 0 },
  },
]

describe.each(PROPERTIES)('role/:role_name/$path', ({ path, first, sent, shown, ofRole, missing, afterDelete }) => {
  let approle: ApproleMount
  beforeEach(async () => {
    approle = new ApproleMount()
    await approle.makeRole('Role', { token_bound_cidrs: '10.0.0.0/8' })
  })
  const at = `role/Role/${path}`

  it('GET reads the role property', async () => {
    expect(await approle.read(at)).toEqual({ status: 200, data: first })
  })

  it('POST sets the role property and nothing else', async () => {
    const { data: before } = await approle.read('role/role')
    expect(await approle.write(at, sent)).toEqual({ status: 204 })
    expect(await approle.read(at)).toEqual({ status: 200, data: shown })
    expect((await approle.read('role/role')).data).toEqual({ ...before, ...ofRole })
  })

  it('DELETE resets the role property, whatever the case of the role name', async () => {
    await approle.write(at, sent)
    expect(await approle.remove(at)).toEqual({ status: 204 })
    expect(await approle.read(at)).toEqual({ status: 200, data: afterDelete })
  })

  it('POST without the field of the role property is rejected or does nothing', async () => {
    const before = await approle.read(at)
    expect(await approle.write(at, {})).toEqual(missing === null ? { status: 204 } : { status: 400, errors: [missing] })
    expect(await approle.read(at)).toEqual(before)
  })

  it('a property of an unknown role: GET 404, POST 404 as an unsupported path, DELETE 204', async () => {
    expect(await approle.read(`role/none/${path}`)).toEqual({ status: 404, errors: [] })
    for (const body of [sent, {}]) {
      expect(await approle.write(`role/none/${path}`, body)).toEqual({
        status: 404,
        errors: ['1 error occurred:\n\t* unsupported path\n\n'],
      })
    }
    expect(await approle.remove(`role/none/${path}`)).toEqual({ status: 204 })
    expect(await approle.read('role/none')).toMatchObject({ status: 404 })
  })

  it('LIST of a role property is 404', async () => {
    expect(await approle.list(at)).toMatchObject({ status: 404 })
  })
})

const PERIOD = 'is greater than the backend\'s maximum lease TTL of "768h0m0s"'
const CONSTRAINT = 'at least one constraint should be enabled on the role'

/** The role before, the endpoint, the body, and the error. */
const REFUSED: readonly (readonly [JsonObject, string, JsonObject, string])[] = [
  [{}, 'secret-id-num-uses', { secret_id_num_uses: -1 }, 'secret_id_num_uses cannot be negative'],
  [{}, 'token-num-uses', { token_num_uses: -1 }, "'token_num_uses' cannot be negative"],
  [
    { token_type: 'batch' },
    'token-num-uses',
    { token_num_uses: 1 },
    "'token_type' cannot be 'batch' or 'default_batch' when set to generate tokens with limited use count",
  ],
  [
    { token_type: 'batch' },
    'period',
    { token_period: 1 },
    "'token_type' cannot be 'batch' or 'default_batch' when set to generate periodic tokens",
  ],
  [{ token_max_ttl: 60 }, 'token-ttl', { token_ttl: 61 }, 'token_ttl should not be greater than token_max_ttl'],
  [
    { token_ttl: 60 },
    'token-max-ttl',
    { token_max_ttl: 59 },
    'token_max_ttl should be greater than or equal to token_ttl',
  ],
  [{}, 'token-ttl', { token_ttl: null }, 'missing token_ttl'],
  [{}, 'secret-id-ttl', { secret_id_ttl: null }, 'missing secret_id_ttl'],
  [{}, 'bind-secret-id', { bind_secret_id: false }, CONSTRAINT],
  [{}, 'secret-id-bound-cidrs', { secret_id_bound_cidrs: '' }, 'missing bound_cidr_list'],
  [{}, 'secret-id-bound-cidrs', { secret_id_bound_cidrs: null }, 'missing bound_cidr_list'],
  [
    {},
    'secret-id-bound-cidrs',
    { secret_id_bound_cidrs: '10.0.0.1' },
    'failed to validate CIDR blocks: invalid CIDR address: 10.0.0.1',
  ],
  [{}, 'bound-cidr-list', { bound_cidr_list: [] }, 'missing bound_cidr_list'],
  [
    {},
    'token-bound-cidrs',
    { token_bound_cidrs: 'x' },
    'failed to parse token_bound_cidrs: error parsing address "x": it is neither an address nor a CIDR block',
  ],
  [
    { bind_secret_id: false, token_bound_cidrs: '10.0.0.0/8' },
    'token-bound-cidrs',
    { token_bound_cidrs: '' },
    CONSTRAINT,
  ],
  [{}, 'period', { period: '800h' }, `period of "800h0m0s" ${PERIOD}`],
  [{}, 'period', { token_period: '800h' }, `period of "0s" ${PERIOD}`],
  [
    {},
    'token-ttl',
    { token_ttl: 'soon' },
    'Field validation failed: error converting input for field "token_ttl": invalid duration',
  ],
]

describe('a write of a property', () => {
  let approle: ApproleMount
  beforeEach(() => {
    approle = new ApproleMount()
  })

  it.each(REFUSED)('a role with %j: a write of %s rejects %j', async (role, path, body, text) => {
    await approle.makeRole('r', role)
    const before = await approle.read('role/r')
    expect(await approle.write(`role/r/${path}`, body)).toEqual({ status: 400, errors: [text] })
    expect(await approle.read('role/r')).toEqual(before)
  })

  it('a reset of a property that removes the last constraint is rejected', async () => {
    await approle.makeRole('a', { bind_secret_id: false, secret_id_bound_cidrs: '10.0.0.0/8' })
    await approle.makeRole('b', { bind_secret_id: false, token_bound_cidrs: '10.0.0.0/8' })
    expect(await approle.remove('role/a/secret-id-bound-cidrs')).toEqual({ status: 400, errors: [CONSTRAINT] })
    expect(await approle.remove('role/b/token-bound-cidrs')).toEqual({ status: 400, errors: [CONSTRAINT] })
  })

  it.each([
    ['secret-id-num-uses', { secret_id_num_uses: null }, { secret_id_num_uses: 0 }],
    ['token-num-uses', { token_num_uses: null }, { token_num_uses: 0 }],
    ['policies', { token_policies: null }, { token_policies: [] }],
    ['token-bound-cidrs', { token_bound_cidrs: null }, { token_bound_cidrs: [] }],
    ['token-bound-cidrs', { token_bound_cidrs: [] }, { token_bound_cidrs: [] }],
  ])('a write of %s treats %j as empty', async (path, body, shown) => {
    await approle.makeRole('r', {
      secret_id_num_uses: 1,
      token_num_uses: 1,
      token_policies: 'a',
      token_bound_cidrs: '::1',
    })
    expect(await approle.write(`role/r/${path}`, body)).toEqual({ status: 204 })
    expect(await approle.read(`role/r/${path}`)).toEqual({ status: 200, data: shown })
  })

  it('a write of token_max_ttl accepts 0 beside a ttl', async () => {
    await approle.makeRole('r', { token_ttl: 60, token_max_ttl: 60 })
    expect(await approle.write('role/r/token-max-ttl', { token_max_ttl: 0 })).toEqual({ status: 204 })
  })
})

describe('old names of properties', () => {
  let approle: ApproleMount
  beforeEach(async () => {
    approle = new ApproleMount()
    await approle.makeRole('r', { period: 60, policies: 'a' })
  })

  it('policies shows both names if the deprecated one was written last', async () => {
    expect(await approle.write('role/r/policies', { policies: 'x,Y' })).toEqual({ status: 204 })
    expect((await approle.read('role/r/policies')).data).toEqual({ policies: ['x', 'y'], token_policies: ['x', 'y'] })
    expect(await approle.write('role/r/policies', { token_policies: 'z' })).toEqual({ status: 204 })
    expect((await approle.read('role/r/policies')).data).toEqual({ token_policies: ['z'] })
    expect((await approle.read('role/r')).data).toMatchObject({ period: 60 })
  })

  it('period shows both names if the deprecated one was written last', async () => {
    expect(await approle.write('role/r/period', { period: '15m' })).toEqual({ status: 204 })
    expect((await approle.read('role/r/period')).data).toEqual({ period: 900, token_period: 900 })
    expect(await approle.write('role/r/period', { token_period: 30 })).toEqual({ status: 204 })
    expect((await approle.read('role/r/period')).data).toEqual({ token_period: 30 })
    expect((await approle.read('role/r')).data).toMatchObject({ policies: ['a'] })
  })

  it.each(['policies', 'period'])('a reset of %s clears both names', async (path) => {
    expect(await approle.remove(`role/r/${path}`)).toEqual({ status: 204 })
    expect(Object.keys((await approle.read(`role/r/${path}`)).data ?? {})).toEqual([`token_${path}`])
    expect((await approle.read('role/r')).data).not.toHaveProperty(path)
  })

  it('bound-cidr-list writes the new field, shows nothing but a warning, and resets nothing', async () => {
    const shown = {
      status: 200,
      data: { bound_cidr_list: null },
      warnings: [
        'The "bound_cidr_list" field is deprecated and will be removed. Please use "secret_id_bound_cidrs" instead.',
      ],
    }
    expect(await approle.read('role/r/bound-cidr-list')).toEqual(shown)
    expect(await approle.write('role/r/bound-cidr-list', {})).toEqual({ status: 204 })
    expect(await approle.write('role/r/bound-cidr-list', { bound_cidr_list: '127.0.0.0/8' })).toEqual({ status: 204 })
    expect(await approle.remove('role/r/bound-cidr-list')).toEqual({ status: 204 })
    expect(await approle.read('role/r/bound-cidr-list')).toEqual(shown)
    expect((await approle.read('role/r')).data).toMatchObject({ secret_id_bound_cidrs: ['127.0.0.0/8'] })
    expect(await approle.read('role/none/bound-cidr-list')).toEqual({ status: 404, errors: [] })
  })

  it('local-secret-ids is read-only', async () => {
    expect(await approle.read('role/r/local-secret-ids')).toEqual({ status: 200, data: { local_secret_ids: false } })
    expect(await approle.write('role/r/local-secret-ids', { local_secret_ids: true })).toMatchObject({ status: 405 })
    expect(await approle.remove('role/r/local-secret-ids')).toMatchObject({ status: 405 })
  })

  it.each([
    'token-type',
    'token-period',
    'token-policies',
    'token-explicit-max-ttl',
    'token-no-default-policy',
    'role-name',
  ])('%s has no endpoint', async (path) => {
    const unknown = { status: 404, errors: ['1 error occurred:\n\t* unsupported path\n\n'] }
    expect(await approle.read(`role/r/${path}`)).toEqual(unknown)
    expect(await approle.write(`role/r/${path}`, {})).toEqual(unknown)
  })
})

import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../../src/logical/json.js'
import { ApproleMount } from './approle-mount.js'

/** Role writes that are rejected. A text that ends with `...` is a prefix. */
const REFUSED: readonly (readonly [JsonObject, string])[] = [
  [{ bind_secret_id: false }, 'at least one constraint should be enabled on the role'],
  [{ secret_id_bound_cidrs: '10.0.0.1' }, 'failed to validate CIDR blocks: invalid CIDR address: 10.0.0.1'],
  [{ secret_id_bound_cidrs: ['10.0.0.0/8', 'x'] }, 'failed to validate CIDR blocks: invalid CIDR address: x'],
  [{ secret_id_bound_cidrs: '010.0.0.0/8' }, 'failed to validate CIDR blocks: invalid CIDR address: 010.0.0.0/8'],
  [{ secret_id_bound_cidrs: '10.0.0.0/33' }, 'failed to validate CIDR blocks: invalid CIDR address: 10.0.0.0/33'],
  [{ bound_cidr_list: 'x' }, 'failed to validate CIDR blocks: invalid CIDR address: x'],
  [{ token_bound_cidrs: 'nowhere' }, 'error parsing address "nowhere": ...'],
  [{ token_bound_cidrs: '10.0.0.0/99' }, 'error parsing address "10.0.0.0/99": ...'],
  [{ token_bound_cidrs: '/tmp/socket' }, 'error parsing address "/tmp/socket": ...'],
  [{ token_bound_cidrs: '10.0.0.1:80' }, 'error parsing address "10.0.0.1:80": ...'],
  [{ secret_id_num_uses: -1 }, 'secret_id_num_uses cannot be negative'],
  [{ token_num_uses: -1 }, "'token_num_uses' cannot be negative"],
  [{ token_ttl: '2h', token_max_ttl: '1h' }, "'token_ttl' cannot be greater than 'token_max_ttl'"],
  [{ token_type: 'solid' }, 'invalid \'token_type\' value "solid"'],
  [{ role_id: '' }, 'invalid role_id supplied, or failed to generate a role_id'],
  [{ role_id: null }, 'invalid role_id supplied, or failed to generate a role_id'],
  [
    { token_type: 'batch', token_num_uses: 5 },
    "'token_type' cannot be 'batch' or 'default_batch' when set to generate tokens with limited use count",
  ],
  [
    { token_type: 'batch', token_period: '5m' },
    "'token_type' cannot be 'batch' or 'default_batch' when set to generate periodic tokens",
  ],
  [
    { token_type: 'batch', period: '5m' },
    "'token_type' cannot be 'batch' or 'default_batch' when set to generate periodic tokens",
  ],
  [{ period: '800h' }, 'period of "800h0m0s" is greater than the backend\'s maximum lease TTL of "768h0m0s"'],
  ...(
    [
      ['token_ttl', [-5, 'soon', 1.5, true, [1], '1d12h', '1H']],
      ['secret_id_ttl', ['-5s']],
      ['secret_id_num_uses', ['many', 1.5, [1]]],
      ['token_num_uses', ['1.5', {}]],
      ['bind_secret_id', ['perhaps', 2]],
      ['token_no_default_policy', ['yes']],
      ['token_policies', [{ a: 1 }]],
      ['token_type', [{ a: 1 }, ['batch']]],
      ['role_id', [['a'], { a: 1 }]],
    ] as const
  ).flatMap(([field, values]) =>
    values.map(
      (value) => [{ [field]: value } as JsonObject, `error converting input for field "${field}": ...`] as const,
    ),
  ),
]

const errorOf = (text: string) =>
  text.endsWith('...') ? expect.stringMatching(new RegExp(`^${escapeRegExp(text.slice(0, -3))}`)) : text

const escapeRegExp = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

describe('a role write', () => {
  let approle: ApproleMount
  beforeEach(() => {
    approle = new ApproleMount()
  })

  it.each(REFUSED)('a role write rejects %j and stores nothing', async (body, text) => {
    const refused = { status: 400, errors: [errorOf(text)] }
    expect(await approle.write('role/new', body)).toEqual(refused)
    expect(await approle.read('role/new')).toEqual({ status: 404, errors: [] })
    await approle.makeRole('old', { token_ttl: 60 })
    const before = await approle.read('role/old')
    expect(await approle.write('role/old', { ...body, token_explicit_max_ttl: 9 })).toEqual(refused)
    expect(await approle.read('role/old')).toEqual(before)
  })

  it.each([
    ['bind_secret_id', { bind_secret_id: true }],
    ['secret_id_bound_cidrs', { bind_secret_id: false, secret_id_bound_cidrs: '127.0.0.0/8' }],
    ['token_bound_cidrs', { bind_secret_id: false, token_bound_cidrs: '127.0.0.1' }],
  ])('a role write accepts %s as the only constraint', async (_name, body) => {
    expect(await approle.write('role/r', body)).toEqual({ status: 204 })
  })

  it('a role write validates the merged role, not only the sent fields', async () => {
    await approle.makeRole('r', { token_num_uses: 5 })
    expect(await approle.write('role/r', { token_type: 'batch' })).toMatchObject({ status: 400 })
    expect(await approle.write('role/r', { token_type: 'batch', token_num_uses: 0 })).toEqual({ status: 204 })
  })

  it('a role write accepts a token_period above the mount maximum, since tokens are capped', async () => {
    expect(await approle.write('role/r', { token_period: '10000h' })).toEqual({ status: 204 })
    expect(await approle.write('role/r', { period: '10000h', token_period: '10000h' })).toEqual({ status: 204 })
  })

  it('a role write names the first of several mistakes in the order of the contract', async () => {
    await approle.makeRole('taken')
    const mistakes: readonly (readonly [JsonObject, string])[] = [
      [{ token_ttl: 'soon' }, 'error converting input'],
      [{ token_type: 'solid' }, "invalid 'token_type'"],
      [{ token_bound_cidrs: 'x' }, 'error parsing address'],
      [{ token_num_uses: -1 }, "'token_num_uses'"],
      [{ local_secret_ids: true }, 'local_secret_ids can only'],
      [{ role_id: '' }, 'invalid role_id supplied'],
      [{ secret_id_bound_cidrs: 'x' }, 'failed to validate CIDR'],
      [{ secret_id_num_uses: -1 }, 'secret_id_num_uses cannot'],
      [{ period: '800h' }, 'period of'],
      [{ bind_secret_id: false }, 'at least one constraint'],
    ]
    await approle.makeRole('r')
    for (const [index, [, text]] of mistakes.entries()) {
      const body = Object.assign({}, ...mistakes.slice(index).map(([body]) => body)) as JsonObject
      const { status, errors } = await approle.write('role/r', body)
      expect([status, errors?.[0]]).toEqual([400, expect.stringContaining(text)])
    }
  })
})

describe('RoleID', () => {
  let approle: ApproleMount
  beforeEach(async () => {
    approle = new ApproleMount()
    await approle.makeRole('r1', { role_id: 'Mine' })
    await approle.makeRole('r2')
  })
  const IN_USE = { status: 400, errors: ['role_id already in use'] }

  it('the role-id endpoint reads the RoleID', async () => {
    expect(await approle.read('role/R1/role-id')).toEqual({ status: 200, data: { role_id: 'Mine' } })
    expect(await approle.read('role/none/role-id')).toEqual({ status: 404, errors: [] })
  })

  it.each(['role/r2', 'role/r2/role-id', 'role/new'])('%s rejects the RoleID of another role', async (path) => {
    if (path !== 'role/new') await approle.makeRole('new')
    expect(await approle.write(path, { role_id: 'Mine' })).toEqual(IN_USE)
    expect(await approle.write(path, { role_id: 'mine' })).toEqual({ status: 204 })
  })

  it.each(['role/r1', 'role/r1/role-id'])('a RoleID can be set to its current value: %s', async (path) => {
    expect(await approle.write(path, { role_id: 'Mine' })).toEqual({ status: 204 })
    expect(await approle.read('role/r1/role-id')).toMatchObject({ data: { role_id: 'Mine' } })
  })

  it.each(['role/r1', 'role/r1/role-id'])('a new RoleID replaces the old one, which becomes free: %s', async (path) => {
    const { secretId } = await approle.issue('r1')
    await approle.write(path, { role_id: 'next' })
    expect(await approle.login('Mine', secretId)).toMatchObject({ status: 400 })
    expect(await approle.login('next', secretId)).toMatchObject({ status: 200 })
    expect(await approle.write('role/r2/role-id', { role_id: 'Mine' })).toEqual({ status: 204 })
  })

  it('the role-id endpoint checks the role before the RoleID', async () => {
    expect(await approle.write('role/none/role-id', {})).toEqual({
      status: 404,
      errors: ['1 error occurred:\n\t* unsupported path\n\n'],
    })
    expect(await approle.write('role/r1/role-id', {})).toEqual({ status: 400, errors: ['missing role_id'] })
    expect(await approle.write('role/r1/role-id', { role_id: '' })).toEqual({
      status: 400,
      errors: ['missing role_id'],
    })
  })

  it('a RoleID may have any length', async () => {
    const long = 'i'.repeat(10_000)
    expect(await approle.write('role/r1/role-id', { role_id: long })).toEqual({ status: 204 })
    const { secretId } = await approle.issue('r1')
    expect(await approle.login(long, secretId)).toMatchObject({ status: 200 })
  })

  it('a RoleID that several new roles request at once belongs to one of them', async () => {
    const answers = await Promise.all(
      ['a', 'b', 'c'].map((name) => approle.write(`role/${name}`, { role_id: 'wanted' })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 400, 400])
  })

  it('a RoleID cannot be deleted or listed', async () => {
    expect(await approle.remove('role/r1/role-id')).toMatchObject({ status: 405 })
    expect(await approle.list('role/r1/role-id')).toMatchObject({ status: 404 })
  })
})

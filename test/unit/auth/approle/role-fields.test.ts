import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../../../../src/logical/json.js'
import { ApproleMount } from './approle-mount.js'

/** Every field of the specification's table: its default, valid values with their stored form, and its reset. */
const FIELDS: readonly {
  readonly field: string
  readonly defaultValue: unknown
  readonly sent: readonly (readonly [sent: JsonValue, read: unknown])[]
  readonly reset: readonly [sent: JsonValue, read: unknown]
}[] = [
  {
    field: 'bind_secret_id',
    defaultValue: true,
    sent: [
      [false, false],
      ['0', false],
      ['t', true],
    ],
    reset: [true, true],
  },
  {
    field: 'secret_id_bound_cidrs',
    defaultValue: null,
    sent: [
      [
        ['10.1.2.3/8', 'fe80::/10'],
        ['10.1.2.3/8', 'fe80::/10'],
      ],
      [' 10.0.0.0/8 , 10.0.0.0/8', ['10.0.0.0/8', '10.0.0.0/8']],
    ],
    reset: ['', []],
  },
  {
    field: 'secret_id_num_uses',
    defaultValue: 0,
    sent: [
      [5, 5],
      ['0x10', 16],
    ],
    reset: [null, 0],
  },
  {
    field: 'secret_id_ttl',
    defaultValue: 0,
    sent: [
      [3600, 3600],
      ['60m', 3600],
      ['1h30m', 5400],
      ['2d', 172_800],
      ['500ms', 0],
    ],
    reset: ['', 0],
  },
  {
    field: 'token_ttl',
    defaultValue: 0,
    sent: [
      ['90s', 90],
      ['3600', 3600],
    ],
    reset: [0, 0],
  },
  {
    field: 'token_max_ttl',
    defaultValue: 0,
    sent: [
      ['1h', 3600],
      [7200, 7200],
    ],
    reset: ['', 0],
  },
  {
    field: 'token_policies',
    defaultValue: [],
    sent: [
      ['B, a ,,a', ['B', 'a', '', 'a']],
      [
        ['x', ' y '],
        ['x', 'y'],
      ],
    ],
    reset: [[], []],
  },
  {
    field: 'token_bound_cidrs',
    defaultValue: [],
    sent: [
      ['127.0.0.1,10.0.0.7/32', ['127.0.0.1', '10.0.0.7']],
      [
        ['::1/128', 'FE80::/10', '127.0.0.1/16'],
        ['::1', 'fe80::/10', '127.0.0.1/16'],
      ],
    ],
    reset: ['', []],
  },
  { field: 'token_explicit_max_ttl', defaultValue: 0, sent: [['2h', 7200]], reset: [0, 0] },
  {
    field: 'token_no_default_policy',
    defaultValue: false,
    sent: [
      [true, true],
      ['True', true],
    ],
    reset: [false, false],
  },
  { field: 'token_num_uses', defaultValue: 0, sent: [['7', 7]], reset: [0, 0] },
  { field: 'token_period', defaultValue: 0, sent: [['15m', 900]], reset: ['', 0] },
  {
    field: 'token_type',
    defaultValue: 'default',
    sent: [
      ['service', 'service'],
      ['batch', 'batch'],
      ['default', 'default'],
    ],
    reset: ['', 'default'],
  },
]

describe.each(FIELDS)('role field $field', ({ field, defaultValue, sent, reset }) => {
  // Another constraint, so that the tested one can be removed.
  const other = field === 'token_bound_cidrs' ? {} : { token_bound_cidrs: '127.0.0.0/8' }
  const shown = async (approle: ApproleMount) => (await approle.read('role/r')).data?.[field]

  it('a role field that is not sent shows its default', async () => {
    const approle = new ApproleMount()
    await approle.makeRole('r')
    expect(await shown(approle)).toEqual(defaultValue)
  })

  it.each(sent)('a role field sent as %j at creation reads as %j', async (value, read) => {
    const approle = new ApproleMount()
    await approle.makeRole('r', { ...other, [field]: value })
    expect(await shown(approle)).toEqual(read)
  })

  it.each(sent)('a role field updated to %j stays after a write without it', async (value, read) => {
    const approle = new ApproleMount()
    await approle.makeRole('r', other)
    const { data: before } = await approle.read('role/r')
    expect(await approle.write('role/r', { [field]: value })).toEqual({ status: 204 })
    expect(await approle.write('role/r', {})).toEqual({ status: 204 })
    expect((await approle.read('role/r')).data).toEqual({ ...before, [field]: read })
  })

  it('a role field takes the last value sent, including an empty one', async () => {
    const approle = new ApproleMount()
    await approle.makeRole('r', { ...other, [field]: sent[0]?.[0] ?? null })
    expect(await approle.write('role/r', { [field]: reset[0] })).toEqual({ status: 204 })
    expect(await shown(approle)).toEqual(reset[1])
  })
})

describe('role field local_secret_ids', () => {
  it('local_secret_ids is false by default and can be set at creation', async () => {
    const approle = new ApproleMount()
    await approle.makeRole('r')
    await approle.makeRole('l', { local_secret_ids: true })
    expect((await approle.read('role/r')).data?.local_secret_ids).toBe(false)
    expect((await approle.read('role/l')).data?.local_secret_ids).toBe(true)
  })

  it.each([true, false])('an update of local_secret_ids fails for %j', async (value) => {
    const approle = new ApproleMount()
    await approle.makeRole('l', { local_secret_ids: true })
    expect(await approle.write('role/l', { local_secret_ids: value, token_ttl: 60 })).toEqual({
      status: 400,
      errors: ['local_secret_ids can only be modified during role creation'],
    })
    expect((await approle.read('role/l')).data).toMatchObject({ local_secret_ids: true, token_ttl: 0 })
  })
})

describe('old names of role fields', () => {
  const make = async (body: Record<string, JsonValue>) => {
    const approle = new ApproleMount()
    await approle.makeRole('r', body)
    return approle
  }

  it('deprecated policies are folded, sorted, deduplicated, and set both names', async () => {
    const approle = await make({ policies: 'B, a ,b,,a' })
    expect((await approle.read('role/r')).data).toMatchObject({ policies: ['a', 'b'], token_policies: ['a', 'b'] })
  })

  it('root among deprecated policies stands alone', async () => {
    const approle = await make({ policies: 'a,ROOT' })
    expect((await approle.read('role/r')).data).toMatchObject({ token_policies: ['root'] })
  })

  it('a write of only the current name removes the deprecated field', async () => {
    const approle = await make({ policies: 'a', period: 60 })
    await approle.write('role/r', { token_policies: 'B', token_period: 120 })
    const { data } = await approle.read('role/r')
    expect(data).toMatchObject({ token_policies: ['B'], token_period: 120 })
    expect(data).not.toHaveProperty('policies')
    expect(data).not.toHaveProperty('period')
  })

  it('the current name wins over the deprecated name, and both show its value', async () => {
    const approle = await make({ policies: 'a', token_policies: 'B', period: 60, token_period: 120 })
    expect((await approle.read('role/r')).data).toMatchObject({
      policies: ['B'],
      token_policies: ['B'],
      period: 120,
      token_period: 120,
    })
  })

  it('a write of neither name leaves both fields unchanged', async () => {
    const approle = await make({ policies: 'a', period: 60 })
    await approle.write('role/r', { token_ttl: 5 })
    expect((await approle.read('role/r')).data).toMatchObject({ policies: ['a'], period: 60 })
  })

  it('bound_cidr_list is an alias of secret_id_bound_cidrs, which wins', async () => {
    const approle = await make({ bound_cidr_list: '10.0.0.0/8' })
    expect((await approle.read('role/r')).data).toMatchObject({ secret_id_bound_cidrs: ['10.0.0.0/8'] })
    await approle.write('role/r', { bound_cidr_list: '10.0.0.0/8', secret_id_bound_cidrs: '127.0.0.0/8' })
    expect((await approle.read('role/r')).data).toMatchObject({ secret_id_bound_cidrs: ['127.0.0.0/8'] })
  })
})

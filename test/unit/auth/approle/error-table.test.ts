import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../../src/logical/json.js'
import type { Operation } from '../../../../src/logical/request.js'
import { type Answer, ApproleMount } from './approle-mount.js'

/**
 * Roles of the table: `r` with the SecretID `s`, `q` as another role, `c` bound to addresses. `ACCESSOR` is that of `s`.
 */
interface Row {
  readonly situation: string
  readonly asks: readonly (readonly [Operation, string, JsonObject?])[]
  readonly answer: Answer
}

const errors = (status: number, text: string, isWrapped = false): Answer => ({
  status,
  errors: [
    isWrapped ? `1 error occurred:\n\t* ${text}\n\n` : expect.stringMatching(new RegExp(`^${escapeRegExp(text)}`)),
  ],
})
const escapeRegExp = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
const NO_ROLE = 'role "x" does not exist'
const UNKNOWN = 'failed to find accessor entry for secret_id_accessor: "a"'

const PROPERTY_NAMES = [
  'policies',
  'secret-id-num-uses',
  'secret-id-ttl',
  'token-ttl',
  'token-max-ttl',
  'bind-secret-id',
  'secret-id-bound-cidrs',
  'token-bound-cidrs',
  'period',
]

const TABLE: readonly Row[] = [
  {
    situation: 'read of nothing',
    asks: [
      ['read', 'role/x'],
      ['read', 'role/x/role-id'],
      ...PROPERTY_NAMES.map((name) => ['read', `role/x/${name}`] as const),
    ],
    answer: { status: 404, errors: [] },
  },
  { situation: 'list of nothing', asks: [['list', 'role/q/secret-id/']], answer: { status: 404, errors: [] } },
  {
    situation: 'property or role-id POST, role missing',
    asks: ['role-id', ...PROPERTY_NAMES].map((name) => ['update', `role/x/${name}`] as const),
    answer: errors(404, 'unsupported path', true),
  },
  {
    situation: 'secret-id or custom POST, role missing',
    asks: [
      ['update', 'role/x/secret-id'],
      ['update', 'role/x/custom-secret-id', { secret_id: 's' }],
    ],
    answer: errors(404, NO_ROLE),
  },
  { situation: 'LIST secret-id, role missing', asks: [['list', 'role/x/secret-id/']], answer: errors(400, NO_ROLE) },
  {
    situation: 'lookup or destroy, role missing',
    asks: [
      ['update', 'role/x/secret-id/lookup', { secret_id: 's' }],
      ['update', 'role/x/secret-id/destroy', { secret_id: 's' }],
      ['update', 'role/x/secret-id-accessor/lookup', { secret_id_accessor: 'a' }],
      ['delete', 'role/x/secret-id-accessor/destroy', { secret_id_accessor: 'a' }],
    ],
    answer: errors(404, NO_ROLE),
  },
  {
    situation: 'DELETE of anything, role missing',
    asks: ['', ...PROPERTY_NAMES.map((name) => `/${name}`)].map((rest) => ['delete', `role/x${rest}`] as const),
    answer: { status: 204 },
  },
  {
    situation: 'lookup or destroy of an unknown SecretID',
    asks: [
      ['update', 'role/r/secret-id/lookup', { secret_id: 'u' }],
      ['update', 'role/r/secret-id/destroy', { secret_id: 'u' }],
    ],
    answer: { status: 204 },
  },
  {
    situation: 'accessor lookup, unknown',
    asks: [['update', 'role/r/secret-id-accessor/lookup', { secret_id_accessor: 'a' }]],
    answer: { status: 404, data: { error: UNKNOWN } },
  },
  {
    situation: 'accessor destroy, unknown',
    asks: [['update', 'role/r/secret-id-accessor/destroy', { secret_id_accessor: 'a' }]],
    answer: errors(404, UNKNOWN),
  },
  {
    situation: 'accessor destroy, other role',
    asks: [['update', 'role/q/secret-id-accessor/destroy', { secret_id_accessor: 'ACCESSOR' }]],
    answer: errors(403, 'invalid secret id accessor'),
  },
  {
    situation: 'accessor lookup, other role',
    asks: [['update', 'role/q/secret-id-accessor/lookup', { secret_id_accessor: 'ACCESSOR' }]],
    answer: { status: 204 },
  },
  {
    situation: 'role_id conflict',
    asks: [
      ['update', 'role/q', { role_id: 'r' }],
      ['update', 'role/q/role-id', { role_id: 'r' }],
    ],
    answer: errors(400, 'role_id already in use'),
  },
  {
    situation: 'no constraint',
    asks: [
      ['update', 'role/r', { bind_secret_id: false }],
      ['update', 'role/r/bind-secret-id', { bind_secret_id: false }],
    ],
    answer: errors(400, 'at least one constraint should be enabled on the role'),
  },
  {
    situation: 'bad CIDR on role, SecretID or property',
    asks: [
      ['update', 'role/r', { secret_id_bound_cidrs: 'x' }],
      ['update', 'role/r/secret-id', { cidr_list: 'x' }],
      ['update', 'role/r/custom-secret-id', { secret_id: 'new', cidr_list: 'x' }],
      ['update', 'role/r/secret-id-bound-cidrs', { secret_id_bound_cidrs: 'x' }],
    ],
    answer: errors(400, 'failed to validate CIDR blocks: invalid CIDR address: x'),
  },
  {
    situation: 'bad role token_bound_cidrs',
    asks: [['update', 'role/r', { token_bound_cidrs: 'x' }]],
    answer: errors(400, 'error parsing address "x"'),
  },
  {
    situation: 'subset violation',
    asks: [
      ['update', 'role/c/secret-id', { cidr_list: '11.0.0.0/8' }],
      ['update', 'role/c/secret-id', { token_bound_cidrs: '11.0.0.0/8' }],
    ],
    answer: errors(400, 'failed to verify subset relationship between CIDR blocks on the role ["10.0.0.0/8"]'),
  },
  {
    situation: 'duplicate custom SecretID',
    asks: [['update', 'role/r/custom-secret-id', { secret_id: 's' }]],
    answer: errors(400, 'failed to store secret_id: SecretID is already registered'),
  },
  {
    situation: 'login, unknown role_id or secret_id',
    asks: [
      ['update', 'login', { role_id: 'u', secret_id: 's' }],
      ['update', 'login', { role_id: 'r', secret_id: 'u' }],
    ],
    answer: { status: 400, errors: ['invalid role or secret ID'] },
  },
  {
    situation: 'login, no secret_id',
    asks: [['update', 'login', { role_id: 'r' }]],
    answer: { status: 400, errors: ['missing secret_id'] },
  },
  {
    situation: 'login, no role_id',
    asks: [['update', 'login', { secret_id: 's' }]],
    answer: { status: 400, errors: ['missing role_id'] },
  },
  {
    situation: 'login, locked',
    asks: [['update', 'login', { role_id: 'locked', secret_id: 's' }]],
    answer: { status: 403, errors: ['permission denied'] },
  },
  {
    situation: 'login, CIDR',
    asks: [['update', 'login', { role_id: 'c', secret_id: 's' }]],
    answer: errors(400, 'source address "127.0.0.1" unauthorized by CIDR restrictions on the role'),
  },
]

describe('the error table', () => {
  let approle: ApproleMount
  let accessor: string
  beforeEach(async () => {
    approle = new ApproleMount()
    await approle.makeRole('r')
    await approle.makeRole('q')
    await approle.makeRole('locked')
    await approle.makeRole('c', { secret_id_bound_cidrs: '10.0.0.0/8', token_bound_cidrs: '10.0.0.0/8' })
    const { data } = await approle.write('role/r/custom-secret-id', { secret_id: 's' })
    accessor = String(data?.secret_id_accessor)
    await approle.write('role/c/custom-secret-id', { secret_id: 's' })
    for (let count = 0; count < 5; count++) await approle.login('locked', 'wrong')
  })

  it.each(TABLE)('$situation', async ({ asks, answer }) => {
    for (const [operation, path, body = {}] of asks) {
      const filled = body.secret_id_accessor === 'ACCESSOR' ? { secret_id_accessor: accessor } : body
      expect(await approle.ask(operation, path, filled), `${operation} ${path}`).toEqual(answer)
    }
  })
})

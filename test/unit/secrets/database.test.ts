import { beforeEach, describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../../support/manual-clock.js'
import { createSeededRandom } from '../../../src/base/random.js'
import { scramVerifier } from '../../../src/crypto/scram.js'
import type { JsonObject } from '../../../src/logical/json.js'
import { postgresUrl } from '../../../src/secrets/database/postgresql.js'
import { fillStatements } from '../../../src/secrets/database/statements.js'
import { DEFAULT_USERNAME_TEMPLATE, parseUsernameTemplate } from '../../../src/secrets/database/username-template.js'
import { refusal } from '../../support/backend-harness.js'
import { makeDatabase } from './database-mount.js'

const URL = 'postgresql://{{username}}:{{password}}@localhost:5432/app'
const CONFIG = {
  plugin_name: 'postgresql-database-plugin',
  connection_url: URL,
  username: 'root',
  password: 'first',
  allowed_roles: ['app', 'fixed', 'team-*'],
}
const ROLE = { db_name: 'main', creation_statements: ['CREATE {{name}}'], default_ttl: '1h', max_ttl: '2h' }
const STATIC = { db_name: 'main', username: 'fixed', rotation_period: '1h' }

let made: ReturnType<typeof makeDatabase>
beforeEach(async () => {
  made = makeDatabase()
  await write('config/main', CONFIG)
})

const write = (path: string, body: JsonObject = {}) => made.harness.write(path, body)
const read = async (path: string) => (await made.harness.read(path))?.data as Record<string, unknown> | undefined
const reject = async (path: string, body: JsonObject = {}) => (await refusal(write(path, body))).at(-1)
const keys = async (path: string) =>
  ((await made.harness.call('list', `${path}/`))?.data as { keys: string[] } | undefined)?.keys
const reading = async (path: string) => (await refusal(made.harness.read(path))).at(-1)

describe('connections', () => {
  it('a connection reads back as written, without its password', async () => {
    await write('config/other', {
      ...CONFIG,
      max_open_connections: 2,
      max_connection_lifetime: '5s',
      password_authentication: 'scram-sha-256',
      root_rotation_statements: 'ALTER {{name}}',
      password_policy: 'long',
      verify_connection: false,
    })
    expect(await read('config/other')).toEqual({
      allowed_roles: ['app', 'fixed', 'team-*'],
      connection_details: {
        connection_url: URL,
        username: 'root',
        max_open_connections: 2,
        max_connection_lifetime: '5s',
        password_authentication: 'scram-sha-256',
      },
      password_policy: 'long',
      plugin_name: 'postgresql-database-plugin',
      plugin_version: '',
      root_credentials_rotate_statements: ['ALTER {{name}}'],
      verify_connection: false,
    })
    expect(await keys('config')).toEqual(['main', 'other'])
    await made.harness.call('delete', 'config/other')
    expect(await keys('config')).toEqual(['main'])
    expect(await read('config/other')).toBeUndefined()
  })

  it('an update keeps fields that it does not contain, and hides a password in the URL', async () => {
    const changed = await write('config/main', { connection_url: 'postgresql://root:first@localhost/app' })
    expect(changed?.warnings).toEqual([expect.stringMatching(/^Password found in connection_url/)])
    expect(await read('config/main')).toMatchObject({
      allowed_roles: ['app', 'fixed', 'team-*'],
      connection_details: { connection_url: 'postgresql://root:xxxxx@localhost/app', username: 'root' },
    })
  })

  it.each([
    [{ plugin_name: 'mysql-database-plugin' }, 'the plugin "mysql-database-plugin" is not supported'],
    [{ plugin_name: '' }, 'empty plugin name'],
    [{ connection_url: '' }, 'error creating database object: connection_url cannot be empty'],
    [{ connection_url: 'host=localhost' }, 'connection_url must be a URL'],
    [{ tls_ca: 'x' }, 'the setting "tls_ca" is not supported'],
    [{ rotation_schedule: '* * * * *' }, 'the setting "rotation_schedule" is not supported'],
    [{ password_authentication: 'md5' }, "'md5' is not a valid password authentication type"],
    [{ max_connection_lifetime: 'x' }, 'invalid max_connection_lifetime: x'],
    [
      { username_template: '{{ nope }}' },
      'unable to initialize username template: unsupported username_template: the function nope is unknown',
    ],
    [{ password: 'wrong' }, 'error creating database object: error verifying connection: '],
  ])('a connection with %o is rejected', async (more, text) => {
    expect(await reject('config/new', { ...CONFIG, ...more })).toContain(text)
    expect(await keys('config')).toEqual(['main'])
  })

  it('reset, reload and rotation name an unknown connection or plugin', async () => {
    for (const path of ['reset/none', 'rotate-root/none']) {
      expect(await reject(path)).toBe('failed to find entry for connection with name: "none"')
    }
    expect(await reject('reload/mysql-database-plugin')).toContain('is not supported')
  })

  it('a changed connection closes the open one', async () => {
    await write('roles/app', ROLE)
    await read('creds/app')
    expect(made.database.open).toBe(1)
    await write('config/main', { max_connection_lifetime: '9s' })
    expect(made.database.open).toBe(0)
    await read('creds/app')
    expect(made.database.settings.at(-1)).toMatchObject({ connectionSecondsMax: 9 })
    await write('reset/main')
    expect(made.database.open).toBe(0)
  })

  it.each(['before', 'after'])(
    'a rotation of the root password that failed %s the change loses no password',
    async (when) => {
      const { database } = made
      if (when === 'before') database.failure = new Error('down')
      else database.lateFailure = new Error('lost')
      expect(await reject('rotate-root/main')).toMatch(/down|lost/)
      expect(database.users.get('root')).toBe(when === 'before' ? 'first' : 'password-1')
      database.failure = undefined
      database.lateFailure = undefined
      await write('roles/app', ROLE)
      expect(await read('creds/app')).toBeDefined()
      await write('rotate-root/main')
      expect(database.users.get('root')).toBe('password-1')
      expect(await read('creds/app')).toBeDefined()
    },
  )

  it('a rotation of the root password requires a URL with the password', async () => {
    await write('config/main', { connection_url: 'postgresql://root:first@localhost/app' })
    expect(await reject('rotate-root/main')).toContain('a connection_url with {{password}}')
  })
})

describe('roles', () => {
  it('a role reads back as written', async () => {
    await write('roles/app', { ...ROLE, revocation_statements: '["A", "B"]' })
    expect(await read('roles/app')).toEqual({
      creation_statements: ['CREATE {{name}}'],
      credential_type: 'password',
      db_name: 'main',
      default_ttl: 3600,
      max_ttl: 7200,
      renew_statements: [],
      revocation_statements: ['["A", "B"]'],
      rollback_statements: [],
    })
    await write('roles/app', { default_ttl: 60 })
    expect(await read('roles/app')).toMatchObject({ default_ttl: 60, max_ttl: 7200 })
    expect(await keys('roles')).toEqual(['app'])
  })

  it.each([
    [{ db_name: '' }, 'database name is required'],
    [{ credential_type: 'x' }, 'invalid credential_type "x"'],
    [{ credential_type: 'rsa_private_key' }, 'the credential_type "rsa_private_key" is not supported'],
    [{ credential_config: { a: 'b' } }, 'credential_config is not supported'],
  ])('a role with %o is rejected', async (more, text) => {
    expect(await reject('roles/app', { ...ROLE, ...more })).toContain(text)
  })

  it('credentials have the TTL of the role, and the data that their revocation needs', async () => {
    await write('roles/team-a', { ...ROLE, revocation_statements: 'DROP {{name}}' })
    const response = await made.harness.read('creds/team-a')
    const { username = '', password } = { ...(response?.data as Record<string, string>) }
    expect(made.database.users.get(username)).toBe(password)
    expect(response?.lease).toEqual({
      ttlSeconds: 3600,
      isRenewable: true,
      internal: { role: 'team-a', db_name: 'main', username, revocation_statements: ['DROP {{name}}'] },
    })
    const secret = { internal: response?.lease?.internal ?? {}, issuedMs: made.harness.clock.now() }
    const { backend } = made.harness
    made.harness.clock.advance(3_600_000)
    expect(await backend.renewLease?.(secret, 0)).toEqual({ ttlSeconds: 3600, warnings: [] })
    expect(await backend.renewLease?.(secret, 7200)).toMatchObject({ ttlSeconds: 3600, warnings: [expect.any(String)] })
    await made.harness.call('delete', 'roles/team-a')
    await expect(backend.renewLease?.(secret, 0)).rejects.toThrow('could not find role with name "team-a"')
    await backend.revokeLease?.(secret)
    expect(made.database.statements).toEqual(['DROP {{name}}'])
    expect(made.database.users.has(username)).toBe(false)
  })

  it('credentials of an unknown or excluded role, or without a connection, are rejected', async () => {
    expect(await reading('creds/none')).toBe('unknown role: none')
    await write('roles/other', ROLE)
    expect(await reading('creds/other')).toBe('"other" is not an allowed role')
    await made.harness.call('delete', 'config/main')
    expect(await reading('creds/other')).toBe('failed to find entry for connection with name: "main"')
  })

  it('a user that may exist after a lost connection is removed', async () => {
    await write('roles/app', ROLE)
    made.database.lateFailure = new Error('connection lost')
    expect(await reading('creds/app')).toContain('connection lost')
    expect([...made.database.users.keys()]).toEqual(['root'])
  })
})

describe('static roles', () => {
  const password = async () => (await read('static-creds/fixed'))?.password

  it('a new static role has a new password, and reads back as written', async () => {
    await write('static-roles/fixed', STATIC)
    expect(await read('static-creds/fixed')).toEqual({
      last_vault_rotation: '2023-11-14T22:13:20.000000000Z',
      password: 'password-1',
      rotation_period: 3600,
      ttl: 3600,
      username: 'fixed',
    })
    expect(made.database.users.get('fixed')).toBe('password-1')
    expect(await read('static-roles/fixed')).toEqual({
      credential_type: 'password',
      db_name: 'main',
      last_vault_rotation: '2023-11-14T22:13:20.000000000Z',
      rotation_period: 3600,
      rotation_statements: [],
      username: 'fixed',
    })
    expect(await keys('static-roles')).toEqual(['fixed'])
    await write('rotate-role/fixed')
    expect([await password(), made.database.users.get('fixed')]).toEqual(['password-2', 'password-2'])
  })

  it.each([
    [{ username: '' }, 'username is a required field'],
    [{ db_name: '' }, 'database name is a required field'],
    [{ rotation_period: '4s' }, 'rotation_period must be 5 seconds or more'],
    [{ rotation_schedule: '0 * * * *' }, '"rotation_schedule" is not supported'],
    [{ password: 'given' }, '"password" is not supported'],
    [{ db_name: 'none' }, 'failed to find entry for connection with name: "none"'],
  ])('a static role with %o is rejected', async (more, text) => {
    expect(await reject('static-roles/fixed', { ...STATIC, ...more })).toContain(text)
    expect(await keys('static-roles')).toBeUndefined()
  })

  it('a static role is not stored if its first rotation fails, and keeps its user name', async () => {
    made.database.failure = new Error('down')
    expect(await reject('static-roles/fixed', STATIC)).toContain('down')
    expect(await keys('static-roles')).toBeUndefined()
    made.database.failure = undefined
    await write('static-roles/fixed', STATIC)
    expect(await reject('static-roles/fixed', { username: 'other' })).toBe('cannot update static account username')
  })

  it('an interrupted rotation continues with the same password', async () => {
    await write('static-roles/fixed', STATIC)
    made.database.lateFailure = new Error('lost')
    expect(await reject('rotate-role/fixed')).toContain('lost')
    expect([await password(), made.database.users.get('fixed')]).toEqual(['password-1', 'password-2'])
    made.database.lateFailure = undefined
    await write('rotate-role/fixed')
    expect([await password(), made.database.users.get('fixed')]).toEqual(['password-2', 'password-2'])
  })

  it('a static role is rotated after its period, with pauses after failures, but not on a fenced primary or a secondary', async () => {
    const { harness, database, state } = made
    await write('static-roles/fixed', STATIC)
    const stop = new AbortController()
    harness.backend.start?.(stop.signal)
    database.failure = new Error('down')
    harness.clock.advance(3_600_000)
    await expect.poll(() => harness.storage.get('static-role/fixed')?.toString()).toContain('pendingPassword')
    database.failure = undefined
    state.isFenced = true
    harness.clock.advance(60_000)
    await harness.backend.stop?.()
    expect(await password()).toBe('password-1')
    state.isFenced = false
    Object.assign(harness.context, { isReadOnly: () => true })
    harness.clock.advance(60_000)
    await harness.backend.stop?.()
    expect(await password()).toBe('password-1')
    Object.assign(harness.context, { isReadOnly: () => false })
    harness.clock.advance(5000)
    await expect.poll(password).toBe('password-2')
    stop.abort()
    await harness.backend.stop?.()
    expect(database.open).toBe(0)
  })
})

it('a secondary rejects changes before it reaches the database, and creates credentials', async () => {
  await write('roles/app', ROLE)
  Object.assign(made.harness.context, { isReadOnly: () => true })
  const { length } = made.database.settings
  for (const path of ['config/main', 'roles/app', 'static-roles/fixed', 'rotate-root/main', 'rotate-role/fixed']) {
    expect((await refusal(write(path, { ...CONFIG, ...ROLE, ...STATIC })))[0], path).toBe('read-only')
  }
  expect(made.database.settings).toHaveLength(length)
  expect(await read('creds/app')).toBeDefined()
})

describe('statements', () => {
  it.each([
    [
      ['a', 'b'],
      ['a', 'b'],
    ],
    [['a; b'], ['a; b']],
    [['["a", "b"]'], ['a', 'b']],
    [[Buffer.from('SELECT 1; SELECT 2').toString('base64')], ['SELECT 1; SELECT 2']],
    [[Buffer.from('["a", "b"]').toString('base64')], ['a', 'b']],
    [['[not json'], ['[not json']],
    [[''], []],
    [[], []],
  ])('statements %j are read as %j', (given, expected) => {
    expect(fillStatements(given, {})).toEqual(expected)
  })

  it('placeholders are replaced by values, and other braces stay', () => {
    expect(fillStatements(['{{name}} {{ name }} {{other}} {{toString}}'], { name: '$&' })).toEqual([
      '$& {{ name }} {{other}} {{toString}}',
    ])
  })
})

describe('user names', () => {
  const clock = new ManualClock(1_614_294_836_000)
  const render = (template: string, displayName = 'token', roleName = 'myrolename') =>
    parseUsernameTemplate(template)({ clock, random: createSeededRandom('names'), displayName, roleName })

  it('the default template has the documented form', () => {
    expect(render(DEFAULT_USERNAME_TEMPLATE)).toMatch(/^v-token-myrolena-[0-9A-Za-z]{20}-1614294836$/)
    expect(render(DEFAULT_USERNAME_TEMPLATE, 'amuchlonger_dispname', 'role-name-with-dashes')).toMatch(
      /^v-amuchlon-role-nam-[0-9A-Za-z]{20}-1614294836$/,
    )
  })

  it.each([
    ['a-{{.RoleName}}-z', 'a-myrolename-z'],
    ['{{.DisplayName | uppercase}}', 'TOKEN'],
    ['{{ replace "role" "x" .RoleName | truncate 4 }}', 'myxn'],
    ['{{ unix_time }}', '1614294836'],
    ['{{ printf "%s%%%s" "a\\"" (lowercase "B") }}', 'a"%b'],
    ['{{ .RoleName | sha256 | truncate 8 }}', 'b3870a61'],
  ])('the template %s renders %s', (template, expected) => {
    expect(render(template)).toBe(expected)
  })

  it.each([
    '{{',
    '{{ }}',
    '{{ .Other }}',
    '{{ nope }}',
    '{{ (random 4 }}',
    '{{ random }}',
    '{{ "a" | "b" }}',
    '{{ # }}',
  ])('the template %s is rejected', async (template) => {
    expect(await reject('config/main', { username_template: template })).toContain('unsupported username_template')
  })

  it('a display name cannot end a quoted name', async () => {
    await write('config/main', { username_template: '{{.DisplayName}}' })
    await write('roles/app', ROLE)
    const token = { displayName: `a"; DROP 'b` } as never
    const response = await made.harness.call('read', 'creds/app', {}, { token })
    expect(response?.data).toMatchObject({ username: 'a---DROP--b' })
  })
})

it('the URL contains the encoded user name and password', () => {
  const values = { username: 'a@b', password: 'p/:?' }
  expect(postgresUrl(URL, values, true)).toBe('postgresql://a%40b:p%2F%3A%3F@localhost:5432/app')
  expect(postgresUrl(`${URL}?sslmode=require`, values, true)).toContain('sslmode=require&uselibpqcompat=true')
  expect(postgresUrl(`${URL}?sslmode=prefer`, values, true)).toContain('sslmode=disable')
  expect(() => postgresUrl(`${URL}?sslmode=bogus`, values, true)).toThrow('sslmode is invalid')
})

it('a SCRAM verifier is that of PostgreSQL for the same salt', () => {
  // The salt and the password of the example in RFC 7677.
  expect(scramVerifier('pencil', Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64'))).toBe(
    'SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=',
  )
})

it('a new user has the whole TTL of its role, although time passes while it is created', async () => {
  await write('roles/team-long', { ...ROLE, default_ttl: '3h', max_ttl: '2h' })
  const { clock } = made.harness
  let ms = clock.now()
  vi.spyOn(clock, 'now').mockImplementation(() => ms++)
  expect((await made.harness.read('creds/team-long'))?.lease?.ttlSeconds).toBe(7200)
})

import { expect, it } from 'vitest'
import { startLab } from '../../../src/index.js'
import { FORWARDED } from '../../../src/replication/forwarding/forwardable.js'
import { TestCertificate } from '../../support/client-certificates.js'
import { Issuer } from '../../support/issuer.js'
import { RogueSecondary } from '../../support/rogue-secondary.js'

const MERGE = { 'Content-Type': 'application/merge-patch+json' }
const FILTERS = 'sys/replication/performance/primary/paths-filter'

/** The settings of a database that refuses connections. */
const UNREACHABLE = {
  plugin_name: 'postgresql-database-plugin',
  connection_url: 'postgresql://{{username}}:{{password}}@127.0.0.1:1/db',
  username: 'u',
  password: 'p',
  allowed_roles: '*',
  verify_connection: false,
}

interface Write {
  readonly method: string
  readonly path: string | (() => string)
  readonly body?: object | (() => object)
  readonly namespace?: string
  /** The text of the error with which the primary rejects the write. */
  readonly failure?: string
}

const write = (method: string, path: Write['path'], body?: Write['body'], more: Partial<Write> = {}): Write => ({
  method,
  path,
  ...(body && { body }),
  ...more,
})

/**
 * Returns one request on the secondary for each pattern and operation of the table, in an order in which all of them
 * succeed.
 */
const createWrites = async (ids: Map<string, string>): Promise<readonly (readonly [string, Write])[]> => {
  const authority = await TestCertificate.authority('root')
  const crl = await authority.revoke(authority)
  const role = 'auth/approle/role/r'
  const property = (name: string, field: string, value: unknown): [string, Write][] => [
    [`approle role/:role_name/${name} update`, write('POST', `${role}/${name}`, { [field]: value })],
    [`approle role/:role_name/${name} delete`, write('DELETE', `${role}/${name}`)],
  ]
  const byId = (what: string) => () => `identity/${what}/id/${String(ids.get('id'))}`
  const secretId = () => ({ secret_id: ids.get('secret_id') })
  const accessor = () => ({ secret_id_accessor: ids.get('secret_id_accessor') })
  return [
    ['system mounts/*path update', write('POST', 'sys/mounts/two', { type: 'kv', options: { version: '2' } })],
    ['system mounts/*path/tune update', write('POST', 'sys/mounts/two/tune', { description: 'd' })],
    ['system auth/*path update', write('POST', 'sys/auth/approle', { type: 'approle' })],
    ['', write('POST', 'sys/auth/userpass', { type: 'userpass' })],
    ['', write('POST', 'sys/auth/cert', { type: 'cert' })],
    ['cert config update', write('POST', 'auth/cert/config', { disable_binding: true })],
    ['cert certs/:name update', write('POST', 'auth/cert/certs/r', { certificate: authority.pem })],
    ['cert certs/:name delete', write('DELETE', 'auth/cert/certs/r')],
    ['cert crls/:name update', write('POST', 'auth/cert/crls/l', { crl })],
    ['cert crls/:name delete', write('DELETE', 'auth/cert/crls/l')],
    ['', write('POST', 'sys/auth/jwt', { type: 'jwt' })],
    ['jwt config update', write('POST', 'auth/jwt/config', { jwt_validation_pubkeys: new Issuer().publicKeyPem })],
    [
      'jwt role/:name update',
      write('POST', 'auth/jwt/role/r', { role_type: 'jwt', user_claim: 'sub', bound_subject: 'me' }),
    ],
    ['jwt role/:name delete', write('DELETE', 'auth/jwt/role/r')],
    ['', write('POST', 'sys/mounts/one', { type: 'kv' })],
    ['system auth/*path/tune update', write('POST', 'sys/auth/approle/tune', { description: 'd' })],
    ['system policy/*name update', write('PUT', 'sys/policy/p', { policy: 'path "a" { capabilities = ["read"] }' })],
    ['system policy/*name delete', write('DELETE', 'sys/policy/p')],
    [
      'system policies/acl/*name update',
      write('PUT', 'sys/policies/acl/q', { policy: 'path "a" { capabilities = ["read"] }' }),
    ],
    ['system policies/acl/*name delete', write('DELETE', 'sys/policies/acl/q')],
    [
      'system policies/password/*name update',
      write('PUT', 'sys/policies/password/p', { policy: 'length = 8 rule "charset" { charset = "ab" }' }),
    ],
    ['system policies/password/*name delete', write('DELETE', 'sys/policies/password/p')],
    ['system quotas/config update', write('POST', 'sys/quotas/config', {})],
    ['system quotas/rate-limit/:name update', write('POST', 'sys/quotas/rate-limit/q', { rate: 1000, path: 'one' })],
    ['system quotas/rate-limit/:name delete', write('DELETE', 'sys/quotas/rate-limit/q')],
    ['system quotas/lease-count/:name update', write('POST', 'sys/quotas/lease-count/q', { max_leases: 1000 })],
    ['system quotas/lease-count/:name delete', write('DELETE', 'sys/quotas/lease-count/q')],
    ['system namespaces/*path update', write('POST', 'sys/namespaces/ns1', {})],
    ['system namespaces/*path patch', write('PATCH', 'sys/namespaces/ns1', { custom_metadata: { a: 'b' } })],
    ['', write('POST', 'sys/mounts/inner', { type: 'kv' }, { namespace: 'ns1' })],
    ['', write('POST', 'inner/a', { v: 1 }, { namespace: 'ns1' })],
    ['system namespaces/*path delete', write('DELETE', 'sys/namespaces/ns1')],
    ['token roles/:name update', write('POST', 'auth/token/roles/t', { orphan: true })],
    ['token roles/:name delete', write('DELETE', 'auth/token/roles/t')],
    ['kv *path update', write('PUT', 'one/a', { v: 1 })],
    ['kv *path delete', write('DELETE', 'one/a')],
    ['system remount update', write('POST', 'sys/remount', { from: 'one', to: 'moved' })],
    [
      'system remount/status/:migration_id read',
      write('GET', () => `sys/remount/status/${String(ids.get('migration_id'))}`),
    ],
    ['system mounts/*path delete', write('DELETE', 'sys/mounts/moved')],
    ['kv config update', write('POST', 'two/config', { max_versions: 5 })],
    ['kv data/*path update', write('POST', 'two/data/a', { data: { v: 1 } })],
    ['kv data/*path patch', write('PATCH', 'two/data/a', { data: { w: 1 } })],
    ['kv data/*path delete', write('DELETE', 'two/data/a')],
    ['kv undelete/*path update', write('POST', 'two/undelete/a', { versions: [2] })],
    ['kv delete/*path update', write('POST', 'two/delete/a', { versions: [1] })],
    ['kv destroy/*path update', write('POST', 'two/destroy/a', { versions: [1] })],
    ['kv metadata/*path update', write('POST', 'two/metadata/a', { max_versions: 3 })],
    ['kv metadata/*path patch', write('PATCH', 'two/metadata/a', { custom_metadata: { a: 'b' } })],
    ['kv metadata/*path delete', write('DELETE', 'two/metadata/a')],
    ['', write('POST', 'sys/mounts/database', { type: 'database' })],
    ['database config/:name update', write('POST', 'database/config/c', UNREACHABLE)],
    [
      'database roles/:name update',
      write('POST', 'database/roles/r', { db_name: 'c', creation_statements: 'CREATE ROLE "{{name}}"' }),
    ],
    ['database roles/:name delete', write('DELETE', 'database/roles/r')],
    // The primary tries to reach the database.
    ['database rotate-root/:name update', write('POST', 'database/rotate-root/c', {}, { failure: 'ECONNREFUSED' })],
    [
      'database static-roles/:name update',
      write(
        'POST',
        'database/static-roles/s',
        { db_name: 'c', username: 'u', rotation_period: 60 },
        { failure: 'ECONNREFUSED' },
      ),
    ],
    [
      'database rotate-role/:name update',
      write('POST', 'database/rotate-role/s', {}, { failure: 'no static role found' }),
    ],
    ['database static-roles/:name delete', write('DELETE', 'database/static-roles/s')],
    ['database config/:name delete', write('DELETE', 'database/config/c')],
    ['', write('POST', 'sys/mounts/transit', { type: 'transit' })],
    ['transit keys/:name update', write('POST', 'transit/keys/k', { exportable: true, allow_plaintext_backup: true })],
    ['transit keys/:name/rotate update', write('POST', 'transit/keys/k/rotate')],
    [
      'transit keys/:name/config update',
      write('POST', 'transit/keys/k/config', {
        min_decryption_version: 2,
        min_encryption_version: 2,
        deletion_allowed: true,
      }),
    ],
    ['transit keys/:name/trim update', write('POST', 'transit/keys/k/trim', { min_available_version: 2 })],
    ['transit encrypt/:name update', write('POST', 'transit/encrypt/new', { plaintext: 'aGVsbG8=' })],
    ['transit backup/:name read', write('GET', 'transit/backup/k')],
    ['transit cache-config update', write('POST', 'transit/cache-config', { size: 100 })],
    ['transit config/keys update', write('POST', 'transit/config/keys', { disable_upsert: false })],
    ['transit restore/:name update', write('POST', 'transit/restore/l', () => ({ backup: ids.get('backup') }))],
    ['transit keys/:name delete', write('DELETE', 'transit/keys/k')],
    ['transit restore update', write('POST', 'transit/restore', () => ({ backup: ids.get('backup') }))],
    ...pkiWrites(ids),
    ['', write('POST', 'sys/mounts/ssh', { type: 'ssh' })],
    ['ssh config/ca update', write('POST', 'ssh/config/ca', { key_type: 'ed25519' })],
    ['ssh config/ca delete', write('DELETE', 'ssh/config/ca')],
    ['ssh roles/:role update', write('POST', 'ssh/roles/otp', { key_type: 'otp', default_user: 'u' })],
    ['ssh config/zeroaddress update', write('POST', 'ssh/config/zeroaddress', { roles: 'otp' })],
    ['ssh config/zeroaddress delete', write('DELETE', 'ssh/config/zeroaddress')],
    ['ssh roles/:role delete', write('DELETE', 'ssh/roles/otp')],
    ['', write('POST', 'sys/mounts/totp', { type: 'totp' })],
    ['totp keys/:name update', write('POST', 'totp/keys/k', { key: 'GEZDGNBVGY3TQOJQ' })],
    ['totp keys/:name delete', write('DELETE', 'totp/keys/k')],
    ['userpass users/:username update', write('POST', 'auth/userpass/users/u', { password: 'p' })],
    ['userpass users/:username/password update', write('POST', 'auth/userpass/users/u/password', { password: 'q' })],
    ['userpass users/:username/policies update', write('POST', 'auth/userpass/users/u/policies', { policies: 'a' })],
    // The primary creates the entity of this login, but not its token.
    ['system internal/replicated-entity update', write('POST', 'auth/userpass/login/u', { password: 'q' })],
    ['identity entity update', write('POST', 'identity/entity', { name: 'e' })],
    ['identity entity/id/:id update', write('POST', byId('entity'), { policies: 'a' })],
    ['identity entity/name/:name update', write('POST', 'identity/entity/name/e', { policies: 'b' })],
    [
      'identity entity-alias update',
      write('POST', 'identity/entity-alias', () => ({ name: 'a', mount_accessor: ids.get('accessor') })),
    ],
    ['identity entity-alias/id/:id update', write('POST', byId('entity-alias'), { name: 'b' })],
    ['identity entity-alias/id/:id delete', write('DELETE', byId('entity-alias'))],
    ['identity entity/name/:name delete', write('DELETE', 'identity/entity/name/e')],
    ['', write('POST', 'identity/entity', {})],
    ['identity entity/id/:id delete', write('DELETE', byId('entity'))],
    ['', write('POST', 'identity/entity', {})],
    [
      'identity entity/batch-delete update',
      write('POST', 'identity/entity/batch-delete', () => ({ entity_ids: [ids.get('id')] })),
    ],
    ['', write('POST', 'identity/entity', {})],
    [
      '',
      write('POST', 'identity/entity', () => {
        ids.set('target', String(ids.get('id')))
        return {}
      }),
    ],
    [
      'identity entity/merge update',
      write('POST', 'identity/entity/merge', () => ({
        from_entity_ids: [ids.get('id')],
        to_entity_id: ids.get('target'),
      })),
    ],
    ['identity group update', write('POST', 'identity/group', { name: 'g', type: 'external' })],
    ['identity group/id/:id update', write('POST', byId('group'), { policies: 'a' })],
    ['identity group/name/:name update', write('POST', 'identity/group/name/g', { policies: 'b' })],
    [
      'identity group-alias update',
      write('POST', 'identity/group-alias', () => ({
        name: 'a',
        mount_accessor: ids.get('accessor'),
        canonical_id: ids.get('id'),
      })),
    ],
    ['identity group-alias/id/:id update', write('POST', byId('group-alias'), { name: 'b' })],
    ['identity group-alias/id/:id delete', write('DELETE', byId('group-alias'))],
    ['identity group/name/:name delete', write('DELETE', 'identity/group/name/g')],
    ['', write('POST', 'identity/group', {})],
    ['identity group/id/:id delete', write('DELETE', byId('group'))],
    ['userpass users/:username delete', write('DELETE', 'auth/userpass/users/u')],
    ['approle role/:role_name update', write('POST', role, { policies: 'default' })],
    ['approle role/:role_name/role-id update', write('POST', `${role}/role-id`, { role_id: 'rid' })],
    ...property('policies', 'token_policies', 'a'),
    ...property('secret-id-num-uses', 'secret_id_num_uses', 5),
    ...property('secret-id-ttl', 'secret_id_ttl', 600),
    ...property('token-ttl', 'token_ttl', 60),
    ...property('token-max-ttl', 'token_max_ttl', 600),
    ...property('token-num-uses', 'token_num_uses', 5),
    ...property('period', 'token_period', 60),
    ...property('secret-id-bound-cidrs', 'secret_id_bound_cidrs', '127.0.0.0/8'),
    ...property('token-bound-cidrs', 'token_bound_cidrs', '127.0.0.0/8'),
    ...property('bound-cidr-list', 'bound_cidr_list', '127.0.0.0/8'),
    ['', write('POST', `${role}/secret-id-bound-cidrs`, { secret_id_bound_cidrs: '127.0.0.0/8' })],
    [
      'approle role/:role_name/bind-secret-id update',
      write('POST', `${role}/bind-secret-id`, { bind_secret_id: false }),
    ],
    ['approle role/:role_name/bind-secret-id delete', write('DELETE', `${role}/bind-secret-id`)],
    ['approle role/:role_name/secret-id/? update', write('POST', `${role}/secret-id`, { num_uses: 5 })],
    ['approle login update', write('POST', 'auth/approle/login', () => ({ role_id: 'rid', ...secretId() }))],
    ['approle role/:role_name/secret-id/destroy/? update', write('POST', `${role}/secret-id/destroy`, secretId)],
    [
      'approle role/:role_name/custom-secret-id update',
      write('POST', `${role}/custom-secret-id`, { secret_id: 'mine' }),
    ],
    ['approle role/:role_name/secret-id/destroy/? delete', write('DELETE', `${role}/secret-id/destroy`, secretId)],
    ['', write('POST', `${role}/secret-id`, {})],
    [
      'approle role/:role_name/secret-id-accessor/destroy/? update',
      write('POST', `${role}/secret-id-accessor/destroy`, accessor),
    ],
    ['', write('POST', `${role}/secret-id`, {})],
    [
      'approle role/:role_name/secret-id-accessor/destroy/? delete',
      write('DELETE', `${role}/secret-id-accessor/destroy`, accessor),
    ],
    ['approle tidy/secret-id update', write('POST', 'auth/approle/tidy/secret-id')],
    ['approle role/:role_name delete', write('DELETE', role)],
    ['system auth/*path delete', write('DELETE', 'sys/auth/approle')],
  ]
}

/** Returns the requests of a mount of pki. A secondary forwards all changes of issuers, keys, roles and settings. */
const pkiWrites = (ids: Map<string, string>): [string, Write][] => {
  const ca = { common_name: 'ca.test', key_type: 'ec' }
  const bundle = () => ({ pem_bundle: ids.get('certificate') })
  return [
    ['', write('POST', 'sys/mounts/pki', { type: 'pki' })],
    ['pki root/generate/:type update', write('POST', 'pki/root/generate/exported', ca)],
    ['pki config/ca update', write('POST', 'pki/config/ca', bundle)],
    ['pki issuers/import/bundle update', write('POST', 'pki/issuers/import/bundle', bundle)],
    ['pki issuers/import/cert update', write('POST', 'pki/issuers/import/cert', bundle)],
    [
      'pki intermediate/set-signed update',
      write('POST', 'pki/intermediate/set-signed', () => ({ certificate: ids.get('certificate') })),
    ],
    ['pki keys/import update', write('POST', 'pki/keys/import', () => ({ pem_bundle: ids.get('private_key') }))],
    ['pki issuers/generate/root/:type update', write('POST', 'pki/issuers/generate/root/internal', ca)],
    ['pki root/rotate/:type update', write('POST', 'pki/root/rotate/internal', ca)],
    ['pki root/replace update', write('POST', 'pki/root/replace')],
    ['pki intermediate/generate/:type update', write('POST', 'pki/intermediate/generate/internal', ca)],
    ['pki issuers/generate/intermediate/:type update', write('POST', 'pki/issuers/generate/intermediate/internal', ca)],
    ['pki intermediate/cross-sign update', write('POST', 'pki/intermediate/cross-sign', ca)],
    ['pki issuer/:issuer_ref update', write('POST', 'pki/issuer/next', { issuer_name: 'one' })],
    ['pki issuer/:issuer_ref patch', write('PATCH', 'pki/issuer/one', { leaf_not_after_behavior: 'permit' })],
    ['pki config/issuers update', write('POST', 'pki/config/issuers', { default: 'one' })],
    ['pki issuer/:issuer_ref/revoke update', write('POST', 'pki/issuer/one/revoke')],
    ['pki issuer/:issuer_ref delete', write('DELETE', 'pki/issuer/one')],
    ...['internal', 'exported'].map((type): [string, Write] => [
      `pki keys/generate/${type} update`,
      write('POST', `pki/keys/generate/${type}`, { key_type: 'ec', key_name: type }),
    ]),
    ['pki config/auto-tidy update', write('POST', 'pki/config/auto-tidy', { interval_duration: '1h' })],
    ['pki config/keys update', write('POST', 'pki/config/keys', { default: 'internal' })],
    ['pki key/:key_ref update', write('POST', 'pki/key/internal', { key_name: 'l' })],
    ['pki key/:key_ref delete', write('DELETE', 'pki/key/l')],
    ['pki roles/:name update', write('POST', 'pki/roles/r', { allow_any_name: true })],
    ['pki roles/:name patch', write('PATCH', 'pki/roles/r', { max_ttl: '1h' })],
    ['pki roles/:name delete', write('DELETE', 'pki/roles/r')],
    ['pki config/crl update', write('POST', 'pki/config/crl', { expiry: '24h' })],
    ['pki config/urls update', write('POST', 'pki/config/urls', { ocsp_servers: 'http://ocsp.test' })],
    ['pki root delete', write('DELETE', 'pki/root')],
  ]
}

/** The primary has these authorities and keys already, so it stores nothing. */
const REPEATED_IMPORTS: ReadonlySet<string> = new Set([
  'pki/config/ca',
  'pki/issuers/import/bundle',
  'pki/issuers/import/cert',
  'pki/intermediate/set-signed',
  'pki/intermediate/cross-sign',
  'pki/keys/import',
])

/** Deletions have their fields in the query. */
const inPlace = (method: string, fields: object | undefined) =>
  fields && (method === 'DELETE' ? { query: fields as Record<string, string> } : { body: fields })

const rows = (): string[] =>
  Object.entries(FORWARDED).flatMap(([mount, patterns]) =>
    Object.entries(patterns).flatMap(([pattern, writes]) => writes.map((name) => `${mount} ${pattern} ${name}`)),
  )

it('every row of the forwarding table is a write that works on a secondary', async () => {
  await using lab = await startLab('pr')
  const { A, C } = lab
  await C.takeRoot()
  const ids = new Map<string, string>()
  const token = (await A.client.read('sys/auth/token')).data as { accessor: string }
  ids.set('accessor', token.accessor)
  const writes = await createWrites(ids)
  expect(
    writes
      .map(([row]) => row)
      .filter((row) => row !== '')
      .sort(),
  ).toEqual(rows().sort())
  for (const [row, { method, path: place, body, namespace, failure }] of writes) {
    const path = typeof place === 'function' ? place() : place
    await lab.converged()
    const before = Number((await A.status('performance')).last_performance_wal)
    const headers = { ...(method === 'PATCH' && MERGE), ...(namespace && { 'X-Vault-Namespace': namespace }) }
    const given = typeof body === 'function' ? body() : body
    const { status, json } = await C.client.send(method, path, { ...inPlace(method, given), headers })
    if (failure) {
      expect([status >= 400, String(json?.errors)], row).toEqual([true, expect.stringContaining(failure)])
      continue
    }
    expect(status, `${row}: ${method} ${path}: ${JSON.stringify(json?.errors)}`).toBeLessThan(300)
    const data = (json?.data ?? {}) as Record<string, unknown>
    for (const name of [
      'secret_id',
      'secret_id_accessor',
      'id',
      'backup',
      'migration_id',
      'certificate',
      'private_key',
    ])
      if (data[name]) ids.set(name, String(data[name]))
    const isSilent =
      method === 'GET' ||
      REPEATED_IMPORTS.has(path) ||
      path.endsWith('tidy/secret-id') ||
      path.endsWith('/bound-cidr-list')
    if (!isSilent) {
      expect(Number((await A.status('performance')).last_performance_wal), `${row} was made by A`).toBeGreaterThan(
        before,
      )
    }
  }
})

it('a secondary creates the token of a new user, with an entity from the primary', async () => {
  await using lab = await startLab('pr')
  const { A, C } = lab
  await A.client.write('auth/token/roles/t', { allowed_entity_aliases: 'me', allowed_policies: 'default' })
  await lab.converged()
  await C.takeRoot()
  const made = await C.client.call('POST', 'auth/token/create/t', { body: { entity_alias: 'me' } })
  const { client_token: token, entity_id: id } = made.auth as { client_token: string; entity_id: string }
  expect(id).toMatch(/^[0-9a-f-]{36}$/)
  expect((await C.anonymous.send('GET', 'auth/token/lookup-self', { token })).json?.data).toMatchObject({
    entity_id: id,
  })
  expect((await A.anonymous.send('GET', 'auth/token/lookup-self', { token })).status).toBe(403)
  const again = await C.client.call('POST', 'auth/token/create/t', { body: { entity_alias: 'me' } })
  expect((again.auth as Record<string, string>).entity_id).toBe(id)
})

it('a secondary rejects requests that only the primary may execute, and does not forward them', async () => {
  await using lab = await startLab('pr')
  const { A, C } = lab
  await C.takeRoot()
  const audit = { type: 'file', options: { file_path: 'discard' } }
  for (const [method, path, body] of [
    ['PUT', 'sys/audit/shared', audit],
    ['PUT', 'sys/config/auditing/request-headers/x-trace', { hmac: false }],
    ['PUT', 'sys/rotate', {}],
  ] as const) {
    const { status, json } = await C.client.send(method, path, { body })
    expect([status, json?.errors], path).toEqual([
      400,
      ['this cluster is a performance secondary; send the request to its primary'],
    ])
  }
  expect((await C.client.send('PUT', 'sys/audit/own', { body: { ...audit, local: true } })).status).toBe(204)
  expect((await A.client.read('sys/audit')).data).toEqual({})
})

/** Returns a forwarded request. The path is below a namespace. */
const forged = (operation: string, path: string, data: object = {}) =>
  JSON.stringify({
    id: 'forged',
    operation,
    path,
    namespace: { id: 'root', path: '' },
    data,
    headers: {},
    remoteAddress: '127.0.0.1',
    remotePort: 1,
    token: { isRoot: true, policies: ['root'] },
  })

it('the certificate of a secondary permits only writes to mounts that its filter shows', async () => {
  await using lab = await startLab('pr')
  const { A } = lab
  const { client } = A
  for (const mount of ['denied', 'shown']) await client.write(`sys/mounts/${mount}`, { type: 'kv' })
  await client.write('sys/auth/denied', { type: 'approle' })
  await client.write('sys/namespaces/ns1', {})
  await client.write('denied/secret', { v: 'canary' })
  await client.write('shown/secret', { v: 1 })
  await client.write(`${FILTERS}/rogue`, { mode: 'deny', paths: ['denied', 'auth/denied', 'ns1'] })
  await using rogue = await RogueSecondary.join(A, 'performance', 'rogue')
  const { known_secondaries: known } = await A.status('performance')

  const ask = async (payload: string): Promise<string> => {
    try {
      const { error, response } = await rogue.forward(payload)
      const failure = error as { code: string; message: string } | undefined
      return failure ? `${failure.code}: ${failure.message}` : `done ${JSON.stringify(response)}`
    } catch (error) {
      return `refused: ${(error as Error).message}`
    }
  }
  expect(await ask(forged('update', 'shown/secret', { v: 2 })), 'what a secondary may do').toMatch(/^done/)
  for (const path of ['denied/secret', 'shown/secret', 'sys/mounts', 'sys/policies/acl', 'sys/remount']) {
    expect(await ask(forged('read', path)), path).toBe('permission-denied: a secondary cannot send this request')
    for (const operation of ['list', 'help']) {
      expect(await ask(forged(operation, path))).toBe('refused: a forwarded request has an invalid operation')
    }
  }
  await client.write('sys/mounts/moved', { type: 'kv' })
  await client.write(`${FILTERS}/rogue`, { mode: 'deny', paths: ['denied', 'auth/denied', 'ns1', 'moved'] })
  const { data: move } = await client.call('POST', 'sys/remount', { body: { from: 'moved', to: 'away' } })
  const status = `sys/remount/status/${(move as { migration_id: string }).migration_id}`
  expect(await ask(forged('read', status)), 'the move of a filtered mount').toMatch(/^not-found/)
  expect((await client.read(status)).data).toMatchObject({ migration_info: { source_mount: 'moved/' } })
  const NOT_TAKEN: readonly (readonly [string, string, object?])[] = [
    ['update', 'sys/seal'],
    ['update', 'sys/step-down'],
    ['update', 'sys/rotate'],
    ['update', 'sys/unseal', { key: '00' }],
    ['update', 'sys/audit/file', { type: 'file', options: { file_path: '/tmp/of-a-rogue' } }],
    ['delete', 'sys/audit/file'],
    ['update', 'sys/audit-hash/file', { input: 'x' }],
    ['update', 'sys/config/auditing/request-headers/x', {}],
    ['delete', `${FILTERS}/rogue`],
    ['update', `${FILTERS}/rogue`, { mode: 'deny', paths: [] }],
    ['update', 'sys/replication/performance/primary/revoke-secondary', { id: known }],
    ['update', 'sys/replication/performance/primary/secondary-token', { id: 'more' }],
    ['update', 'sys/replication/performance/primary/demote'],
    ['update', 'sys/replication/dr/primary/enable'],
    ['update', 'sys/replication/recover'],
    ['update', 'sys/generate-root/attempt'],
    ['update', 'sys/rekey/init', { secret_shares: 1, secret_threshold: 1 }],
    ['update', 'sys/wrapping/unwrap', { token: 'x' }],
    ['update', 'sys/wrapping/wrap', { a: 1 }],
    ['update', 'sys/capabilities', { token: A.rootToken, paths: ['a'] }],
    ['update', 'sys/leases/revoke-prefix/auth'],
    ['update', 'sys/storage/raft/snapshot-force'],
    ['update', 'auth/token/create'],
    ['update', 'auth/token/lookup', { token: A.rootToken }],
    ['update', 'auth/token/revoke', { token: A.rootToken }],
    ['update', 'auth/approle/role/r/secret-id/lookup', { secret_id: 'x' }],
    ['update', 'cubbyhole/x', { v: 1 }],
    ['update', 'auth/userpass/login/u', { password: 'p' }],
  ]
  await client.write('sys/auth/approle', { type: 'approle' })
  await client.write('sys/auth/userpass', { type: 'userpass' })
  for (const [operation, path, data] of NOT_TAKEN) {
    expect(await ask(forged(operation, path, data)), path).toBe(
      'permission-denied: a secondary cannot send this request',
    )
  }
  const HELD: readonly (readonly [string, string, object?])[] = [
    ['update', 'denied/secret', { v: 2 }],
    ['delete', 'denied/secret'],
    ['update', 'auth/denied/login', { role_id: 'x', secret_id: 'y' }],
    ['update', 'sys/mounts/denied/tune', { description: 'x' }],
    ['delete', 'sys/mounts/denied'],
    ['delete', 'sys/auth/denied'],
    ['update', 'sys/remount', { from: 'denied', to: 'open' }],
  ]
  for (const [operation, path, data] of HELD) {
    expect(await ask(forged(operation, path, data)), path).toMatch(
      /^not-found: .*route entry found, but backend is nil\.$/,
    )
  }
  const { id: namespaceId } = (await client.call('GET', 'sys/namespaces/ns1')).data as { id: string }
  for (const namespace of [
    { id: namespaceId, path: 'ns1/' },
    { id: namespaceId, path: '' },
    { id: 'nowhere', path: 'nowhere/' },
  ]) {
    const payload = JSON.stringify({ ...JSON.parse(forged('update', 'sys/policies/acl/p', { policy: '' })), namespace })
    expect(await ask(payload)).toBe('not-found: namespace not found')
  }
  const accessorOf = async (mount: string) => ((await client.read('sys/auth'))[mount] as { accessor: string }).accessor
  const entity = (accessor: unknown, name: unknown) =>
    ask(forged('update', 'sys/internal/replicated-entity', { accessor, name }))
  expect(await entity(await accessorOf('approle/'), 'me')).toMatch(/^done/)
  expect(await entity(await accessorOf('denied/'), 'me')).toMatch(/^not-found/)
  expect(await entity('auth_none_1', 'me')).toMatch(/^invalid-request/)
  expect(await entity(await accessorOf('approle/'), '')).toMatch(/^invalid-request/)
  expect(await entity({}, [])).toMatch(/^invalid-request/)
  expect(await ask('null')).toBe('refused: a forwarded request has an invalid request')
  // The primary is unchanged.
  expect((await client.read('denied/secret')).data).toEqual({ v: 'canary' })
  expect((await client.read(`${FILTERS}/rogue`)).data).toMatchObject({ mode: 'deny' })
  expect((await A.status('performance')).known_secondaries).toEqual(known)
  expect((await client.read('sys/seal-status')).sealed).toBe(false)
})

it('the certificate of a DR secondary forwards nothing', async () => {
  await using lab = await startLab('dr')
  await using rogue = await RogueSecondary.join(lab.A, 'dr', 'rogue')
  await expect(rogue.forward(forged('update', 'sys/policies/acl/p', { policy: '' }))).rejects.toThrow(
    'a DR secondary cannot forward requests',
  )
})

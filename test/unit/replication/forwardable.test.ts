import { expect, test } from 'vitest'
import { createApproleType } from '../../../src/auth/approle/backend.js'
import { FORWARDED, isForwardable } from '../../../src/replication/forwarding/forwardable.js'
import { kvType } from '../../../src/secrets/kv/backend.js'
import { createPkiType } from '../../../src/secrets/pki/backend.js'
import { createTransitType } from '../../../src/secrets/transit/backend.js'
import { BackendHarness } from '../../support/backend-harness.js'
import { makeIdentity } from '../../support/identity-mount.js'
import { makeDatabase } from '../secrets/database-mount.js'
import { APPROLE_OPTIONS } from '../auth/approle/approle-mount.js'
import { certType } from '../../../src/auth/cert/backend.js'
import { makeJwt } from '../auth/jwt/jwt-mount.js'
import { makeUserpass } from '../auth/userpass/userpass-mount.js'

/** Requests with a write verb that change no replicated data: a secondary answers them itself. */
const ANSWERED_HERE: ReadonlySet<string> = new Set([
  'approle role/:role_name/secret-id/lookup/? update',
  'approle role/:role_name/secret-id-accessor/lookup/? update',
  'cert login update',
  'jwt login update',
  'userpass login/:username update',
  'identity lookup/entity update',
  'identity lookup/group update',
  'database reset/:name update',
  'database reload/:plugin update',
  'transit decrypt/:name update',
  'transit rewrap/:name update',
  'transit datakey/:plaintext/:name update',
  'transit random update',
  'transit random/:urlbytes update',
  'transit random/:source/:urlbytes update',
  'transit hash update',
  'transit hash/:urlalgorithm update',
  // Each cluster has its own certificates and revocation lists.
  ...['issue/:role', 'sign/:role', 'sign-verbatim', 'sign-verbatim/:role'].flatMap((pattern) => [
    `pki ${pattern} update`,
    `pki issuer/:issuer_ref/${pattern} update`,
  ]),
  'pki root/sign-intermediate update',
  'pki root/sign-self-issued update',
  'pki issuer/:issuer_ref/sign-intermediate update',
  'pki issuer/:issuer_ref/sign-self-issued update',
  'pki revoke update',
  'pki revoke-with-key update',
  'pki config/cluster update',
  'pki tidy update',
  'pki tidy-cancel update',
  ...['sign', 'verify', 'hmac'].flatMap((verb) => [
    `transit ${verb}/:name update`,
    `transit ${verb}/:name/:urlalgorithm update`,
  ]),
])

const BACKENDS = [
  new BackendHarness(createApproleType(APPROLE_OPTIONS).factory),
  new BackendHarness(certType.factory),
  makeJwt().harness,
  makeUserpass(),
  makeIdentity().harness,
  new BackendHarness(kvType.factory, { options: { version: '1' } }),
  new BackendHarness(kvType.factory, { options: { version: '2' } }),
  new BackendHarness(createTransitType().factory),
  makeDatabase().harness,
  new BackendHarness(createPkiType().factory),
].map(({ backend }) => backend)

test('every write of every mount is listed as forwarded or as answered by the secondary', () => {
  const undecided = BACKENDS.flatMap(({ type, paths }) =>
    paths.flatMap(({ pattern, operations }) =>
      (['create', 'update', 'patch', 'delete'] as const)
        .filter((operation) => operations[operation] && !isForwardable(type, pattern, operation))
        .map((operation) => `${type} ${pattern} ${operation}`),
    ),
  )
  expect(undecided.filter((row) => !ANSWERED_HERE.has(row))).toEqual([])
  expect(new Set(undecided)).toEqual(ANSWERED_HERE)
})

test('every row of the forwarding table exists in a mount', () => {
  for (const name of ['approle', 'cert', 'jwt', 'userpass', 'kv', 'transit', 'pki', 'database', 'identity']) {
    const patterns = BACKENDS.filter(({ type }) => type === name).flatMap(({ paths }) =>
      paths.map((row) => row.pattern),
    )
    for (const pattern of Object.keys(FORWARDED[name] ?? {})) expect(patterns, `${name} ${pattern}`).toContain(pattern)
  }
})

test('the status of a remount and a transit backup are the only forwarded reads, and inherited names are not forwarded', () => {
  const reads = Object.entries(FORWARDED).flatMap(([type, patterns]) =>
    Object.keys(patterns).filter((pattern) => isForwardable(type, pattern, 'read')),
  )
  expect(reads).toEqual(['remount/status/:migration_id', 'backup/:name'])
  for (const operation of ['read', 'list', 'help'] as const) expect(isForwardable('kv', '*path', operation)).toBe(false)
  expect(isForwardable('constructor', 'name', 'update')).toBe(false)
  expect(isForwardable('kv', 'toString', 'update')).toBe(false)
})

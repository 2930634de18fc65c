import { describe, expect, it } from 'vitest'
import { type ApiAction, responseRows, callOf, initialValues, lineOf } from '../../../src/web/actions/action.js'
import {
  changeAction,
  deleteAction,
  kvMountsOf,
  newAction,
  versionActions,
  versionsOf,
} from '../../../src/web/cluster/kv-actions.js'
import { hashOf, parseRoute } from '../../../src/web/cluster/route.js'
import { actionsOf, decodeToken, filterActions, secondariesOf } from '../../../src/web/cluster/replication-actions.js'
import { addressOf } from '../../../src/web/parts/api.js'

const ACT: ApiAction = {
  label: 'Try',
  method: 'POST',
  path: 'sys/{id}/try',
  fields: [
    { name: 'id', label: 'Id', kind: 'text', isRequired: true },
    { name: 'token', label: 'Token', kind: 'secret' },
    { name: 'uses', label: 'Uses', kind: 'number' },
    { name: 'force', label: 'Force', kind: 'check' },
    { name: 'paths', label: 'Paths', kind: 'lines' },
    { name: 'data', label: 'Data', kind: 'json' },
  ],
}

describe('what is asked of a cluster', () => {
  it('the body of an action contains the given values and nothing else', () => {
    expect(callOf(ACT, { ...initialValues(ACT), id: 'one' })).toEqual({ method: 'POST', path: 'sys/one/try' })
    const all = {
      id: 'one',
      token: ' t ',
      uses: '3',
      force: 'true',
      paths: 'a/\n\n b/ ',
      data: '{"n": 12345678901234567890}',
    }
    expect(callOf(ACT, all).body).toBe(
      '{"token":"t","uses":3,"force":true,"paths":["a/","b/"],"data":{"n": 12345678901234567890}}',
    )
  })

  it.each([
    [{}, 'Id: a value is required'],
    [{ id: 'a', uses: 'many' }, 'Uses: many is not a number'],
    [{ id: 'a', data: '{"a"' }, 'Data: '],
    [{ id: 'a', data: '[1]' }, 'Data: enter a JSON object'],
  ])('an action is rejected before it is sent: %j', (values, reason) => {
    expect(() => callOf(ACT, values)).toThrow(reason)
  })

  it('the shell line of an action shows no secret and no stored data', () => {
    const line = lineOf(ACT, { id: "it's", token: 'hvs.secret', data: '{"password":"hunter2"}' })
    expect(line).toBe(
      `curl -X POST -H "X-Vault-Token: $VAULT_TOKEN" "$VAULT_ADDR"'/v1/sys/it'"'"'s/try' -d '{"token":"...","data":{"...":"..."}}'`,
    )
  })

  it('an action cannot leave its path, whatever a name contains', () => {
    expect(addressOf({ method: 'GET', path: 'kv/data/a b?c#d%' })).toBe('/v1/kv/data/a%20b%3Fc%23d%25')
    for (const path of ['kv/data/../../sys/seal', 'kv/./a', '..'])
      expect(() => addressOf({ method: 'POST', path })).toThrow('a path cannot contain')
  })
})

describe('what an answer shows', () => {
  it('the rows of an answer mark tokens as secret and omit the envelope', () => {
    expect(
      responseRows({ request_id: 'x', lease_duration: 0, wrap_info: { token: 'hvs.w', ttl: 60, accessor: 'a' } }),
    ).toEqual([
      { name: 'token', value: 'hvs.w', isSecret: true },
      { name: 'ttl', value: '60', isSecret: false },
    ])
    expect(
      responseRows({ data: { secret_id: 's', secret_id_accessor: 'a', secret_id_ttl: 0 } }).map(
        ({ isSecret }) => isSecret,
      ),
    ).toEqual([true, false, false])
    expect(responseRows({ data: null, warnings: null })).toEqual([])
  })
})

describe('the acts of replication', () => {
  const names = (kind: 'dr' | 'performance', mode: string) =>
    actionsOf(kind, { [kind]: { mode } }, '').map(({ path }) => path.split('/').slice(-2).join('/'))

  it('replication actions depend on the mode', () => {
    expect(names('dr', 'disabled')).toEqual(['primary/enable', 'secondary/enable'])
    expect(names('dr', 'primary')).toEqual(['primary/secondary-token', 'primary/demote', 'primary/disable'])
    expect(names('performance', 'secondary')).toEqual([
      'secondary/promote',
      'secondary/update-primary',
      'secondary/disable',
    ])
    expect(names('dr', 'bootstrapping')).toEqual([])
    expect(actionsOf('performance', { dr: { mode: 'secondary' }, performance: { mode: 'disabled' } }, '')).toEqual([])
  })

  it('actions of a DR secondary use its operation token, which no shell line shows', () => {
    const [promote] = actionsOf('dr', { dr: { mode: 'secondary' } }, 'hvs.operation')
    if (!promote) throw new Error('there is nothing')
    const values = initialValues(promote)
    expect(callOf(promote, values).body).toBe('{"dr_operation_token":"hvs.operation"}')
    expect(lineOf(promote, values)).not.toContain('hvs.operation')
  })

  it('the actions of a path filter start with the current filter', () => {
    expect(filterActions('c', {}).map(({ method }) => method)).toEqual(['POST'])
    const [set, remove] = filterActions('c', { mode: 'allow', paths: ['kv/', 'app/'] })
    expect(set && initialValues(set)).toEqual({ mode: 'allow', paths: 'kv/\napp/' })
    expect(remove).toMatchObject({ method: 'DELETE', path: 'sys/replication/performance/primary/paths-filter/c' })
  })

  it('replication actions include a secondary that is not connected', () => {
    const row = { node_id: 'b', connection_status: 'connected', last_heartbeat: 't' }
    expect(
      secondariesOf({ known_secondaries: ['b', 'c'], secondaries: [row] }).map((one) => [
        one.node_id,
        one.connection_status,
      ]),
    ).toEqual([
      ['b', 'connected'],
      ['c', 'not connected'],
    ])
  })

  it('replication actions decode a token only with the first one-time password', () => {
    const password = 'k'.repeat(28)
    const token = 'hvs.abcdefghijklmnopqrstuvwx'
    const bytes = [...token].map((letter, index) => letter.charCodeAt(0) ^ password.charCodeAt(index))
    const encoded = Buffer.from(bytes).toString('base64').replace(/=+$/, '')
    expect(decodeToken(encoded, password)).toBe(token)
    expect(() => decodeToken(encoded, 'short')).toThrow('another attempt')
  })
})

describe('secrets', () => {
  const two = { path: 'kv/', version: 2 } as const
  const one = { path: 'old/', version: 1 } as const

  it('secrets of KV version 2 are written with check-and-set, and those of version 1 without', () => {
    expect(callOf(newAction(two, 'app/'), { name: 'db', data: '{}' })).toEqual({
      ...{ method: 'POST', path: 'kv/data/app/db', body: '{"options":{"cas":0},"data":{}}' },
    })
    expect(callOf(changeAction(two, 'db', {}, 4), { data: '{"a":1}' }).body).toBe(
      '{"options":{"cas":4},"data":{"a":1}}',
    )
    expect(callOf(changeAction(one, 'db', {}, 0), { data: '{"a":1}' })).toEqual({
      method: 'POST',
      path: 'old/db',
      body: '{"a":1}',
    })
    expect([deleteAction(two, 'db').path, deleteAction(one, 'db').path]).toEqual(['kv/metadata/db', 'old/db'])
  })

  it('secrets have versions, newest first, with their possible actions', () => {
    const versions = versionsOf({
      data: {
        versions: {
          9: { created_time: 'a', deletion_time: '', destroyed: false },
          10: { created_time: 'b', deletion_time: 'c', destroyed: false },
          8: { created_time: '', deletion_time: '', destroyed: true },
        },
      },
    })
    expect(versions.map(({ version, state }) => [version, state])).toEqual([
      [10, 'deleted'],
      [9, 'available'],
      [8, 'destroyed'],
    ])
    const acts = versions.map((each) => versionActions(two, 'db', each).map(({ path }) => path))
    expect(acts).toEqual([['kv/undelete/db', 'kv/destroy/db'], ['kv/delete/db', 'kv/destroy/db'], []])
  })

  it('secrets are listed in KV mounts only', () => {
    const secret = {
      'b/': { type: 'kv', options: null },
      'a/': { type: 'kv', options: { version: '2' } },
      'sys/': { type: 'system' },
    }
    expect(kvMountsOf({ data: { secret } })).toEqual([
      { path: 'a/', version: 2 },
      { path: 'b/', version: 1 },
    ])
  })
})

describe('the address of the page', () => {
  it('the page address names a cluster, a view and an item, and any other address shows all clusters', () => {
    expect(parseRoute('#/A/secrets')).toEqual({ cluster: 'A', view: 'secrets', item: '' })
    for (const item of ['', 'kv/', 'kv/app/db', 'kv/a b#c?d%/é'])
      expect(parseRoute(hashOf({ cluster: 'a b/c', view: 'secrets', item }))).toEqual({
        ...{ cluster: 'a b/c', view: 'secrets', item },
      })
    expect(hashOf({ cluster: 'A', view: 'secrets', item: 'kv/app/db' })).toBe('#/A/secrets/kv/app/db')
    for (const hash of ['', '#/', '#A', '#/%E0%A4%A/x']) expect(parseRoute(hash)).toBeUndefined()
  })
})

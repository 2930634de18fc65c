import { beforeEach, describe, expect, it } from 'vitest'
import { ApproleMount, type Issued } from './approle-mount.js'

describe('accessors', () => {
  let approle: ApproleMount
  let issued: Issued
  beforeEach(async () => {
    approle = new ApproleMount()
    await approle.makeRole('r')
    await approle.makeRole('q')
    await approle.makeRole('l', { local_secret_ids: true })
    issued = await approle.issue('r', { ttl: 60, metadata: '{"k":"v"}' })
  })
  const ask = (what: string, accessor: string, role = 'r') =>
    approle.write(`role/${role}/secret-id-accessor/${what}`, { secret_id_accessor: accessor })
  const unknownText = (accessor: string) => `failed to find accessor entry for secret_id_accessor: "${accessor}"`
  const unknown = (accessor: string) => ({ status: 404, data: { error: unknownText(accessor) } })

  it('an accessor lookup shows the same as a lookup of its SecretID', async () => {
    expect(await ask('lookup', issued.accessor)).toEqual(await approle.lookup('r', issued.secretId))
    expect((await ask('lookup', issued.accessor, 'R')).data).toMatchObject({
      secret_id_accessor: issued.accessor,
      metadata: { k: 'v' },
    })
  })

  it.each(['lookup', 'destroy'])('accessor %s needs an accessor', async (word) => {
    expect(await ask(word, '', 'none')).toEqual({ status: 400, errors: ['missing secret_id_accessor'] })
  })

  it.each(['lookup', 'destroy'])('accessor %s in an unknown role is 404', async (word) => {
    expect(await ask(word, issued.accessor, 'None')).toEqual({ status: 404, errors: ['role "None" does not exist'] })
  })

  it('accessor lookup of an unknown accessor is 404 with an envelope', async () => {
    const response = await approle.harness.write('role/r/secret-id-accessor/lookup', { secret_id_accessor: 'x' })
    expect(response).toEqual({ status: 404, data: { error: unknownText('x') }, mountType: '' })
  })

  it('accessor destroy of an unknown accessor is 404 with errors', async () => {
    expect(await ask('destroy', 'x')).toEqual({ status: 404, errors: [unknownText('x')] })
  })

  it('a SecretID is not accepted as an accessor, and an accessor not as a SecretID', async () => {
    expect(await ask('lookup', issued.secretId)).toEqual(unknown(issued.secretId))
    expect(await approle.lookup('r', issued.accessor)).toEqual({ status: 204 })
    expect(await approle.login('r', issued.accessor)).toMatchObject({ status: 400 })
  })

  it('accessors are not trimmed', async () => {
    expect(await ask('lookup', ` ${issued.accessor}`)).toMatchObject({ status: 404 })
  })

  it('an accessor of another role: lookup finds nothing, and destroy is forbidden and destroys nothing', async () => {
    expect(await ask('lookup', issued.accessor, 'q')).toEqual({ status: 204 })
    expect(await ask('destroy', issued.accessor, 'q')).toEqual({ status: 403, errors: ['invalid secret id accessor'] })
    expect(await ask('lookup', issued.accessor)).toMatchObject({ status: 200 })
  })

  it('accessors of local SecretIDs are unknown on the other side', async () => {
    const local = await approle.issue('l')
    expect(await ask('lookup', issued.accessor, 'l')).toEqual(unknown(issued.accessor))
    expect(await ask('lookup', local.accessor, 'r')).toEqual(unknown(local.accessor))
    expect(await ask('destroy', local.accessor, 'r')).toMatchObject({ status: 404 })
  })

  it.each([
    ['POST', 'update'],
    ['DELETE', 'delete'],
  ] as const)('destroy removes a SecretID and its accessor: %s', async (_verb, operation) => {
    const body = { role_name: 'r', secret_id_accessor: issued.accessor }
    expect(await approle.ask(operation, 'role/r/secret-id-accessor/destroy', body)).toEqual({ status: 204 })
    expect(await approle.lookup('r', issued.secretId)).toEqual({ status: 204 })
    expect(await ask('lookup', issued.accessor)).toEqual(unknown(issued.accessor))
    expect(await ask('destroy', issued.accessor)).toMatchObject({ status: 404 })
    expect(await approle.storage.keys('secret_id/')).toEqual([])
  })

  it('the accessor of an expired SecretID is unknown at once', async () => {
    approle.clock.advance(60_000)
    expect(await ask('lookup', issued.accessor)).toEqual(unknown(issued.accessor))
  })

  it('the accessor of a used-up SecretID is unknown', async () => {
    const once = await approle.issue('r', { num_uses: 1 })
    await approle.login('r', once.secretId)
    expect(await ask('lookup', once.accessor)).toEqual(unknown(once.accessor))
  })

  it('the accessors of a deleted role are unknown to a new role of the same name', async () => {
    await approle.remove('role/r')
    await approle.makeRole('r')
    expect(await ask('lookup', issued.accessor)).toEqual(unknown(issued.accessor))
    expect(await ask('destroy', issued.accessor)).toMatchObject({ status: 404 })
  })

  it('the accessor paths reject GET and LIST', async () => {
    expect(await approle.read('role/r/secret-id-accessor/lookup')).toMatchObject({ status: 405 })
    expect(await approle.list('role/r/secret-id-accessor')).toMatchObject({ status: 404 })
  })
})

import { type StartedVaultContainer, VaultContainer } from '@testcontainers/vault'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ApiClient } from '../../src/client/api-client.js'
import { IMAGE } from './image.js'

/** The official Vault module of Testcontainers with the image of this repository. */

const TOKEN = 'of-the-tests'

describe('the VaultContainer of Testcontainers', () => {
  let server: StartedVaultContainer
  let client: ApiClient
  beforeAll(async () => {
    server = await new VaultContainer(IMAGE)
      .withVaultToken(TOKEN)
      .withInitCommands(
        'secrets enable -path=app -version=1 kv',
        'write app/greeting word=hello',
        'kv put secret/database user=app password=of-no-use',
        'auth enable approle',
        'write auth/approle/role/app token_policies=default',
      )
      .start()
    client = new ApiClient({ address: server.getAddress(), token: server.getRootToken() })
  })
  afterAll(async () => {
    client?.close()
    await server?.stop()
  })

  it('the VaultContainer of Testcontainers starts with the given token', async () => {
    expect(server.getRootToken()).toBe(TOKEN)
    expect((await client.read('auth/token/lookup-self')).data).toMatchObject({ id: TOKEN, policies: ['root'] })
    await expect(client.with({ token: 'another-token' }).read('sys/mounts')).rejects.toMatchObject({ status: 403 })
  })

  it('the VaultContainer of Testcontainers runs its setup commands', async () => {
    expect((await client.read('app/greeting')).data).toEqual({ word: 'hello' })
    expect((await client.read('secret/data/database')).data).toMatchObject({ data: { user: 'app' } })
    expect((await client.read('auth/approle/role/app/role-id')).data).toHaveProperty('role_id')
  })

  it('the VaultContainer of Testcontainers runs later commands and reports a failed one', async () => {
    await server.execVaultCommands(['kv put secret/later word=then', 'kv delete secret/later'])
    const { status } = await client.send('GET', 'secret/data/later')
    expect(status).toBe(404)
    await expect(server.execVaultCommands(['read no/such/mount'])).rejects.toThrow(/exit code 2/)
  })

  it('the VaultContainer of Testcontainers contains the client and serves on its mapped port', async () => {
    await client.write('secret/data/mine', { data: { word: 'mine' } })
    const { exitCode, output } = await server.exec(['vault', 'kv', 'get', '-field=word', 'secret/mine'])
    expect([exitCode, output.trim()]).toEqual([0, 'mine'])
    expect(server.getAddress()).toBe(`http://${server.getHost()}:${server.getVaultPort()}`)
  })
})

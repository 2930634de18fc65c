import { expect, it } from 'vitest'
import { initialize } from '../../src/lab/requests/replication.js'
import { Program, STARTED, TestDirectory, writeServerConfig } from '../support/program.js'
import { until } from '../support/until.js'

type Fields = Record<string, unknown>

/** One cluster unseals another: two processes, of which the first may be unreachable. */

const siteOf = (at: TestDirectory, name: string, seal = '') => writeServerConfig(at, seal, { name, data: name })

const start = async (config: string): Promise<Program> => {
  const program = new Program(['server', `-config=${config}`])
  await program.untilPrinted(STARTED)
  return program
}

const stop = async (program: Program): Promise<void> => {
  program.signal('SIGTERM')
  expect(await program.exit).toBe(0)
}

const POLICY = `path "transit/encrypt/autounseal" { capabilities = ["update"] }
path "transit/decrypt/autounseal" { capabilities = ["update"] }`

it('the transit key of another cluster unseals a cluster as soon as that cluster is reachable', async () => {
  using at = new TestDirectory()
  const helper = await siteOf(at, 'helper')
  await using firstHelper = await start(helper.config)
  const { rootToken, unsealKeys } = await initialize(helper.client, 1, 1)
  const root = helper.client.with({ token: rootToken })
  await root.write('sys/mounts/transit', { type: 'transit' })
  await root.write('transit/keys/autounseal', {})
  await root.write('sys/policies/acl/autounseal', { policy: POLICY })
  const { client_token: token, accessor } = (
    await root.write('auth/token/create', { policies: ['autounseal'], period: '24h', no_parent: true })
  ).auth as Fields

  const seal = `seal "transit" {
  address = "${helper.address}"
  token = "${String(token)}"
  key_name = "autounseal"
  mount_path = "transit/"
}`
  const { config, client } = await siteOf(at, 'sealed', seal)
  await using first = await start(config)
  expect(first.stdout).toContain(`transit (${helper.address}, key autounseal of transit/)`)
  const made = await client.write('sys/init', { recovery_shares: 1, recovery_threshold: 1 })
  const own = client.with({ token: String(made.root_token) })
  expect(await client.read('sys/seal-status')).toMatchObject({ type: 'transit', sealed: false, recovery_seal: true })
  await own.write('sys/mounts/kept', { type: 'kv' })
  await own.write('kept/a', { word: 'here' })
  const renewedAt = async () =>
    ((await root.write('auth/token/lookup-accessor', { accessor })).data as Fields).last_renewal_time
  await until(async () => Number(await renewedAt()) > 0)

  // A rotation of the key on the other cluster does not affect this one.
  await root.write('transit/keys/autounseal/rotate', {})
  await stop(firstHelper)
  expect((await own.read('kept/a')).data).toEqual({ word: 'here' })
  await stop(first)

  await using second = await start(config)
  expect(await client.read('sys/seal-status')).toMatchObject({ initialized: true, sealed: true, type: 'transit' })
  await second.untilPrinted('the cluster with the seal key cannot unseal this cluster yet')
  expect((await client.send('GET', 'sys/health')).status).toBe(503)
  await stop(second)

  await using third = await start(config)
  await using secondHelper = await start(helper.config)
  await third.untilPrinted('Vault is sealed')
  expect(await client.read('sys/seal-status')).toMatchObject({ sealed: true })
  await helper.client.write('sys/unseal', { key: unsealKeys[0] ?? '' })
  await until(async () => (await client.read('sys/seal-status')).sealed === false)
  expect((await own.read('kept/a')).data).toEqual({ word: 'here' })
  for (const { stdout, stderr } of [first, second, third]) {
    expect(stdout + stderr).not.toContain(String(token))
  }
  await stop(third)
  await stop(secondHelper)
})

it('an initialization reports that the cluster with the seal key is unreachable, and can be repeated', async () => {
  using at = new TestDirectory()
  const { address } = await siteOf(at, 'nobody')
  const seal = `seal "transit" {
  address = "${address}"
  token = "t"
  key_name = "k"
  mount_path = "transit"
  disable_renewal = "true"
}`
  const { config, client } = await siteOf(at, 'sealed', seal)
  await using program = await start(config)
  for (let round = 0; round < 2; round++) {
    const refused = await client.send('PUT', 'sys/init', { body: { recovery_shares: 1, recovery_threshold: 1 } })
    expect(refused.status).toBe(503)
    expect(String((refused.json as Fields).errors)).toContain(`PUT ${address}/v1/transit/encrypt/k: connection refused`)
    expect(await client.read('sys/seal-status')).toMatchObject({ initialized: false, sealed: true })
  }
  await stop(program)
})

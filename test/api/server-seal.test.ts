import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { expect, it } from 'vitest'
import { errorsOf } from '../../src/client/api-client.js'
import { Program, runProgram, STARTED, TestDirectory, writeServerConfig } from '../support/program.js'

/** Auto-unseal: the static seal with its current and its previous key, and the simulated seals. */
const run = async (config: string, env: Record<string, string>, use: (program: Program) => Promise<void>) => {
  await using program = new Program(['server', `-config=${config}`], { env })
  await program.untilPrinted(STARTED)
  await use(program)
  program.signal('SIGTERM')
  expect(await program.exit).toBe(0)
}

it('a static seal issues recovery keys, unseals at startup, and changes its key with the help of the previous one', async () => {
  using at = new TestDirectory()
  const [first, second] = [randomBytes(32).toString('hex'), randomBytes(32).toString('base64')]
  const seal = (id: string, key: string, before = '') =>
    `seal "static" {\n current_key_id = "${id}"\n current_key = "${key}"\n${before}}`
  const { config, rewrite, client } = await writeServerConfig(at, seal('k1', first))
  let root = client
  let recoveryKey = ''
  await run(config, {}, async () => {
    const refused = await client.send('PUT', 'sys/init', {
      body: { secret_shares: 0, recovery_shares: 2, recovery_threshold: 3 },
    })
    expect(refused.status).toBe(400)
    const made = await client.write('sys/init', { recovery_shares: 1, recovery_threshold: 1 })
    expect(made).toMatchObject({ keys: [], recovery_keys: [expect.any(String)] })
    recoveryKey = String((made.recovery_keys as string[])[0])
    root = client.with({ token: String(made.root_token) })
    const status = await client.read('sys/seal-status')
    expect(status).toMatchObject({ type: 'static', sealed: false, recovery_seal: true, t: 1, n: 1 })
    await root.write('sys/mounts/kept', { type: 'kv' })
    await root.write('kept/a', { word: 'here' })
  })
  const expectOpen = async () => expect((await root.read('kept/a')).data).toEqual({ word: 'here' })
  await run(config, {}, expectOpen)
  rewrite(seal('k2', second, ` previous_key_id = "k1"\n previous_key = "env://OLD_KEY"\n`))
  await run(config, { OLD_KEY: first }, expectOpen)
  rewrite(seal('k2', `file://${at.write('key', second)}`))
  await run(config, {}, expectOpen)
  rewrite(seal('k3', randomBytes(32).toString('hex')))
  await run(config, {}, async () => {
    expect(await client.read('sys/seal-status')).toMatchObject({ sealed: true, initialized: true })
    const answer = await client.send('PUT', 'sys/unseal', { body: { key: recoveryKey } })
    expect([answer.status, errorsOf(answer).join()]).toEqual([
      400,
      expect.stringContaining('recovery keys cannot unseal'),
    ])
  })
})

it('other seals are rejected unless they are simulated, which a warning states', async () => {
  using at = new TestDirectory()
  const { config, client } = await writeServerConfig(at, 'seal "awskms" {\n region = "eu"\n}')
  const refused = await runProgram(['server', `-config=${config}`])
  expect(refused.status).toBe(1)
  expect(refused.stderr).toContain(`${config}:9: seal "awskms" is not supported: use shamir, static or transit`)
  const env = { UNDERSTUDY_SIMULATE_SEALS: 'true' }
  let root = client
  await run(config, env, async (program) => {
    expect(program.stdout).toContain('the seal "awskms" is simulated')
    const made = await client.write('sys/init', { recovery_shares: 1, recovery_threshold: 1 })
    root = client.with({ token: String(made.root_token) })
    expect(await client.read('sys/seal-status')).toMatchObject({ type: 'awskms', sealed: false, recovery_seal: true })
  })
  expect(statSync(at.path('data/seal.key')).mode & 0o777).toBe(0o600)
  await run(config, env, async () => expect((await root.send('GET', 'sys/mounts')).status).toBe(200))
})

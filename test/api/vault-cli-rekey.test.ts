/** New key shares, and other requests to one server, with the commands of operators. */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ServerProcess, startServerProcess } from '../support/server-process.js'
import { openShell, type Shell } from '../unit/cli/vault-io.js'

let server: ServerProcess
let shell: Shell
let keys: string[]

const words = (line: string) => line.split(' ')
const ok = (line: string) => shell.ok(words(line))
const json = async (line: string) => (await shell.json(words(line))) as Record<string, unknown>
const keysIn = (text: string): string[] => [...text.matchAll(/^Key \d+: (\S+)$/gm)].map(([, key = '']) => key)

beforeAll(async () => {
  server = await startServerProcess()
  shell = openShell({ VAULT_ADDR: server.address })
  const made = await json('operator init -n=2 -t=2')
  keys = made.unseal_keys_b64 as string[]
  shell.env.VAULT_TOKEN = String(made.root_token)
  for (const key of keys) await ok(`operator unseal ${key}`)
})

afterAll(async () => {
  shell[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

const unseal = async (shares: readonly string[]) => {
  await ok('operator seal')
  let status: Record<string, unknown> = {}
  for (const share of shares) status = await json(`operator unseal ${share}`)
  return status
}

describe('operator rekey', () => {
  it('operator rekey starts, cancels and reports the status of an attempt', async () => {
    expect(await ok('operator rekey -init -n=3 -t=2')).toContain('New Shares               3')
    expect(await ok('operator rekey -cancel')).toBe('Success! Canceled rekeying (if it was started)\n')
    expect(await json('operator rekey -status')).toMatchObject({ started: false, required: 2 })
    const refused = await shell.run(words(`operator rekey ${keys[0]}`))
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('start one with -init') })
  })

  it('operator rekey makes new shares with the last old one, and only the new ones unseal', async () => {
    const { nonce } = await json('operator rekey -init -n=3 -t=2')
    const wrong = await shell.run(words(`operator rekey -nonce=wrong ${keys[0]}`))
    expect(wrong).toMatchObject({ status: 2, stderr: expect.stringContaining('incorrect nonce supplied') })
    expect(await ok(`operator rekey -nonce=${nonce} ${keys[0]}`)).toContain('Rekey Progress           1/2')
    const shown = await ok(`operator rekey -nonce=${nonce} ${keys[1]}`)
    expect(shown).toContain(`Operation nonce: ${nonce}\n`)
    const made = keysIn(shown)
    expect(made).toHaveLength(3)
    expect(await unseal(made.slice(1))).toMatchObject({ sealed: false, n: 3, t: 2 })
    keys = made
  })

  it('operator rekey -verify completes after enough of the new shares', async () => {
    await ok('operator rekey -init -n=1 -t=1 -verify')
    await ok(`operator rekey ${keys[0]}`)
    const [made = ''] = keysIn(await ok(`operator rekey ${keys[1]}`))
    const before = await json('operator rekey -verify -status')
    expect(before).toMatchObject({ started: true, progress: 0, n: 1, t: 1 })
    expect(await ok('operator rekey -status')).toContain('Verification Nonce')
    await ok('operator rekey -verify -cancel')
    expect((await json('operator rekey -verify -status')).nonce).not.toBe(before.nonce)
    expect(await json(`operator rekey -verify ${made}`)).toMatchObject({ complete: true })
    expect(await unseal([made])).toMatchObject({ sealed: false, n: 1, t: 1 })
    keys = [made]
  })

  it('operator rekey rejects recovery keys and a backup if there are none', async () => {
    const recovery = await shell.run(words('operator rekey -target=recovery -init'))
    expect(recovery).toMatchObject({ status: 2, stderr: expect.stringContaining('recovery rekeying not supported') })
    expect((await shell.run(words('operator rekey -backup-retrieve'))).status).toBe(2)
    expect(await ok('operator rekey -backup-delete')).toContain('Success!')
  })
})

describe('what else operators ask', () => {
  it('operator commands show the installed versions and the state of autopilot', async () => {
    expect(await ok('version-history')).toMatch(/^Version +Installation Time +Build Date\n/)
    expect(await json('version-history')).toMatchObject({ data: { keys: [expect.stringMatching(/^\d/)] } })
    expect(await ok('operator raft autopilot state')).toMatch(/^Healthy: +true\n.*\n {6}Node Type: +voter\n$/s)
    expect(await ok('operator raft autopilot get-config')).toMatch(/\nMin Quorum +0\n/)
    const changes = '-min-quorum=3 -cleanup-dead-servers -dead-server-last-contact-threshold=90s'
    expect(await ok(`operator raft autopilot set-config ${changes}`)).toBe('')
    const config = await ok('operator raft autopilot get-config')
    expect(config).toMatch(/^Key .*\nCleanup Dead Servers +true\n/s)
    expect(config).toMatch(/\nDead Server Last Contact Threshold +1m30s\n(.*\n)?Min Quorum +3\n/s)
    const refused = await shell.run(words('operator raft autopilot set-config -min-quorum=2'))
    expect(refused).toMatchObject({ status: 2, stderr: expect.stringContaining('min_quorum of at least 3') })
  })

  it('removing an unknown peer succeeds silently', async () => {
    expect(await ok('operator raft remove-peer other')).toBe('Peer removed successfully!\n')
  })

  it('an operation that one node cannot execute is rejected with the reason', async () => {
    const { status, stderr } = await shell.run(words('operator raft join -retry -leader-ca-cert=x http://127.0.0.1:1'))
    expect(status).toBe(2)
    expect(stderr).toMatch(/already belongs to a cluster/)
  })

  it('a snapshot is saved without output', async () => {
    const file = path.join(shell.home, 'a.snap')
    expect(await shell.run(['operator', 'raft', 'snapshot', 'save', file])).toEqual({
      status: 0,
      stdout: '',
      stderr: '',
    })
    expect(readFileSync(file).length).toBeGreaterThan(100)
  })

  it('operator raft snapshot inspect shows the content of a valid file', async () => {
    const file = path.join(shell.home, 'b.snap')
    await ok(`operator raft snapshot save ${file}`)
    const shown = await ok(`operator raft snapshot inspect ${file}`)
    expect(shown).toMatch(/\nIndex +[1-9]\d*\n/)
    expect(shown).toMatch(/\nsys +[1-9]\d* +[1-9]\d*\n/)
    expect(shown).toMatch(/\nTotal +[1-9]\d* +[1-9]\d*\n$/)
    writeFileSync(file, readFileSync(file).subarray(0, 300))
    const damaged = await shell.run(words(`operator raft snapshot inspect ${file}`))
    expect(damaged).toMatchObject({ status: 1, stderr: expect.stringContaining('the snapshot cannot be used') })
  })

  it('-format=json works after the path, as in scripts', async () => {
    const made = await shell.ok(words('write auth/token/create -format=json ttl=1h policies=default'))
    expect(JSON.parse(made)).toMatchObject({ auth: { lease_duration: 3600 } })
    expect(JSON.parse(await shell.ok(words('secrets -format=json list')))).toHaveProperty('sys/')
  })
})

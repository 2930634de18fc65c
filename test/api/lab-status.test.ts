import { spawn } from 'node:child_process'
import path from 'node:path'
import { expect, it } from 'vitest'
import type { LabView } from '../../src/lab/status/observe.js'
import { LabHome } from '../support/lab-home.js'
import { until } from '../support/until.js'

const NAMED = ['--name', 'one'] as const
const ENTRY = path.join(import.meta.dirname, '..', '..', 'dist', 'main.js')

it('status shows the replication topology and the lag, once and repeatedly', async () => {
  await using home = new LabHome()
  expect((await home.run('up', 'dr', '--ports', 'random', ...NAMED)).status).toBe(0)
  const survey = async () => JSON.parse((await home.run('status', '--json', ...NAMED)).stdout) as LabView
  expect((await survey()).links).toMatchObject([
    { kind: 'dr', primary: 'A', secondary: 'B', state: 'stream-wals', lagEntries: 0, lagSeconds: 0, faults: [] },
  ])
  await using watching = home.begin('status', '--watch', ...NAMED)
  await watching.untilPrinted('└── DR ──▶ B')
  await using lines = home.begin('status', '--watch', '--json', ...NAMED)
  await until(() => lines.stdout.split('\n').length > 3)
  expect((JSON.parse(lines.stdout.split('\n')[1] ?? '') as LabView).name).toBe('one')

  expect((await home.run('fault', 'hold', 'A', 'B', ...NAMED)).status).toBe(0)
  await watching.untilPrinted('1: A <-> B, hold')
  const { apiAddress, rootToken } = home.record('one').clusters[0] ?? { apiAddress: '', rootToken: '' }
  const policy = JSON.stringify({ policy: 'path "x" { capabilities = ["read"] }' })
  const headers = { 'X-Vault-Token': rootToken }
  const written = await fetch(`${apiAddress}/v1/sys/policies/acl/behind`, { method: 'PUT', headers, body: policy })
  expect(written.status).toBe(204)
  await until(async () => ((await survey()).links[0]?.lagEntries ?? 0) > 0)
  expect((await home.run('status', ...NAMED)).stdout).toContain('└── DR ──hold──▶ B')
  expect((await home.run('heal', '--all', ...NAMED)).status).toBe(0)
  await until(async () => (await survey()).links[0]?.lagEntries === 0)

  watching.signal('SIGINT')
  lines.signal('SIGTERM')
  expect([await watching.end(), await lines.end()]).toEqual([0, 0])
})

it('status --watch restores the terminal when it is quit or killed', async () => {
  await using home = new LabHome()
  expect((await home.run('up', 'single', '--ports', 'random', ...NAMED)).status).toBe(0)
  for (const end of ['q', '\x03'] as const) {
    const command = `stty cols 100 rows 20; ${process.execPath} ${ENTRY} status --watch --name one; echo "status $?"; stty -a`
    const terminal = spawn('script', ['-qec', command, '/dev/null'], {
      env: { PATH: process.env.PATH, XDG_STATE_HOME: home.directory, SHELL: '/bin/sh' },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    let shown = ''
    terminal.stdout.on('data', (chunk: Buffer) => {
      shown += chunk.toString()
    })
    await until(() => shown.includes('Healthy'))
    terminal.stdin.write(end)
    await new Promise((resolve) => terminal.once('exit', resolve))
    const [picture = '', after = ''] = shown.split('\x1b[?1049l')
    expect(picture).toContain('\x1b[?1049h\x1b[?25l')
    expect(after).toContain('status 0')
    expect(after).toMatch(/(?<!-)icanon/)
    expect(after).toMatch(/(?<!-)echo /)
  }
})

/** Writes with the token that is valid on the cluster now. */
const write = async (home: LabHome, cluster: string, path: string, body: object): Promise<Record<string, unknown>> => {
  const env = JSON.parse((await home.run('env', cluster, '--json', ...NAMED)).stdout) as Record<string, string>
  const answer = await fetch(`${env.VAULT_ADDR}/v1/${path}`, {
    method: 'PUT',
    headers: { 'X-Vault-Token': env.VAULT_TOKEN ?? '' },
    body: JSON.stringify(body),
  })
  return (await answer.json().catch(() => ({}))) as Record<string, unknown>
}

it('status reports a split brain, and a secondary whose data differs from its primary', async () => {
  await using home = new LabHome()
  expect((await home.run('up', 'pr-dr', '--in-process', '--ports', 'random', ...NAMED)).status).toBe(0)
  const status = () => home.run('status', ...NAMED)

  expect((await home.run('fault', 'corrupt', 'C', ...NAMED)).status).toBe(0)
  const damaged = await status()
  expect(damaged).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('the data of C differs from its performance primary A'),
  })
  expect((await home.run('wait', '--for', 'healthy', '--timeout', '1s', ...NAMED)).status).toBe(4)
  expect(await write(home, 'C', 'sys/replication/reindex', {})).toBeDefined()
  await until(async () => !(await status()).stderr.includes('differ'))

  expect((await home.run('fault', 'partition', 'A', 'B', ...NAMED)).status).toBe(0)
  expect((await home.run('failover', 'A', 'B', '--force', ...NAMED)).status).toBe(0)
  expect((await status()).stdout).toMatch(/^A .*\n└── performance ──▶ C .*\nB /m)
  const made = await write(home, 'B', 'sys/replication/performance/primary/secondary-token', { id: 'c-of-b' })
  const { token } = made.wrap_info as { readonly token: string }
  await write(home, 'C', 'sys/replication/performance/secondary/update-primary', { token })
  await until(async () => /^B .*\n└── performance ──▶ C /m.test((await status()).stdout))
  expect((await status()).stderr).toContain('A and B are both performance primaries of one replication set')
})

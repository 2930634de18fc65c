import { spawn } from 'node:child_process'
import path from 'node:path'
import { expect, it } from 'vitest'
import type { Survey } from '../../src/lab/survey.js'
import { LabHome } from '../support/lab-home.js'
import { until } from '../support/until.js'

const NAMED = ['--name', 'one'] as const
const ENTRY = path.join(import.meta.dirname, '..', '..', 'dist', 'main.js')

it('shows who follows whom and what is on the way, once and again', async () => {
  await using home = new LabHome()
  expect((await home.run('up', 'dr', '--ports', 'random', ...NAMED)).status).toBe(0)
  const survey = async () => JSON.parse((await home.run('status', '--json', ...NAMED)).stdout) as Survey
  expect((await survey()).links).toMatchObject([
    { kind: 'dr', primary: 'A', secondary: 'B', state: 'stream-wals', lagEntries: 0, lagSeconds: 0, faults: [] },
  ])
  await using watching = home.begin('status', '--watch', ...NAMED)
  await watching.untilPrinted('└── DR ──▶ B')
  await using lines = home.begin('status', '--watch', '--json', ...NAMED)
  await until(() => lines.stdout.split('\n').length > 3)
  expect((JSON.parse(lines.stdout.split('\n')[1] ?? '') as Survey).name).toBe('one')

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

it('leaves the terminal as it was, when it is quit and when it is ended', async () => {
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
    await until(() => shown.includes('nothing is wrong'))
    terminal.stdin.write(end)
    await new Promise((resolve) => terminal.once('exit', resolve))
    const [picture = '', after = ''] = shown.split('\x1b[?1049l')
    expect(picture).toContain('\x1b[?1049h\x1b[?25l')
    expect(after).toContain('status 0')
    expect(after).toMatch(/(?<!-)icanon/)
    expect(after).toMatch(/(?<!-)echo /)
  }
})

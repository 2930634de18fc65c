import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { LabHome } from '../support/lab-home.js'
import { as } from '../support/wire.js'

it('logs follows a lab from start to end, and one request across clusters', async () => {
  await using home = new LabHome()
  const up = await home.run('up', 'pr', '--ports', 'random', '--log-level', 'debug')
  expect(up.status, up.stderr).toBe(0)
  const [primary, secondary] = home.record('default').clusters
  if (!primary || !secondary) throw new Error('no clusters')
  await using following = home.begin('logs', '-f', '--all')
  await following.untilPrinted('a request was answered')

  // Written through the secondary, which forwards it.
  const made = await as(secondary.apiAddress, secondary.rootToken)('POST', 'sys/mounts/kv', { type: 'kv' })
  expect(made.status).toBe(204)
  await following.untilPrinted('executing a request of a secondary')
  const handed =
    following.stdout.split('\n').find((line) => line.includes('executing a request of a secondary')) ?? '{}'
  expect(following.stdout).not.toContain('sys/mounts/kv')
  const id = (JSON.parse(handed) as { request_id: string }).request_id
  const { stdout } = await home.run('logs', '--request-id', id)
  const clusters = stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { cluster: string }).cluster)
  expect(clusters.sort()).toEqual(['A', 'C'])
  expect(await home.run('logs', 'C', '--request-id', 'none')).toMatchObject({
    status: 1,
    stdout: '',
    stderr: expect.stringContaining('--log-level debug'),
  })

  expect((await home.run('logs', 'A', '-o', 'table')).stdout).toMatch(/^A \d{4}-\S+ \[INFO\] /m)
  await home.run('crash', 'A')
  const before = following.stdout.length
  await home.run('start', 'A')
  await expect.poll(() => following.stdout.slice(before)).toContain('"cluster":"A"')

  // If the reader closes the pipe, `logs -f` ends with the next line.
  const piped = promisify(execFile)('sh', ['-c', `"${process.execPath}" dist/main.js logs -f | head -n 1`], {
    env: { PATH: process.env.PATH, XDG_STATE_HOME: home.directory },
  })
  let isOver = false
  void piped.finally(() => {
    isOver = true
  })
  const ask = as(secondary.apiAddress, secondary.rootToken)
  await expect.poll(async () => (await ask('GET', 'sys/mounts')) && isOver, { timeout: 90_000 }).toBe(true)
  expect(await piped).toMatchObject({ stderr: '' })

  expect((await home.run('down')).status).toBe(0)
  expect(await following.end(), 'a lab that is gone has nothing more to say').toBe(0)
})

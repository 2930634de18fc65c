import { expect, it } from 'vitest'
import type { LabEvent } from '../../src/lab/events/event.js'
import { LabHome } from '../support/lab-home.js'
import { until } from '../support/until.js'

const NAMED = ['--name', 'one'] as const

const eventsOf = async (home: LabHome): Promise<LabEvent[]> =>
  parse((await home.run('events', '--json', ...NAMED)).stdout)

const parse = (lines: string): LabEvent[] =>
  lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LabEvent)

const shown = (events: readonly LabEvent[]) =>
  events.map(({ cluster = '-', kind, details }) => {
    const { replication, from, to, verb } = details
    return [cluster, kind, replication, from, to, verb].filter((part) => part !== undefined).join(' ')
  })

it('events reports actions of commands and clusters, live and after the lab daemon was killed', async () => {
  await using home = new LabHome()
  expect((await home.run('up', 'dr', '--ports', 'random', ...NAMED)).status).toBe(0)
  const recorded = (event: RegExp) => until(async () => shown(await eventsOf(home)).some((text) => event.test(text)))
  await recorded(/^- lab-up$/)
  // The lab daemon reports the crash and the promotion only for clusters that it has seen before.
  await recorded(/^A role dr \w+ primary$/)
  await recorded(/^B role dr \w+ secondary$/)
  await using follower = home.begin('events', '-f', '--json', ...NAMED)
  await follower.untilPrinted('lab-up')

  await home.run('fault', 'partition', 'A', 'B', '--for', '1s', ...NAMED)
  await home.run('crash', 'A', ...NAMED)
  await follower.untilPrinted('"to":"stopped"')
  expect((await home.run('failover', 'A', 'B', '--force', ...NAMED)).status).toBe(0)
  await follower.untilPrinted('"from":"secondary","to":"primary"')
  expect((await home.run('start', 'A', ...NAMED)).status).toBe(0)
  await follower.untilPrinted('fault-expired')

  const keeper = home.record('one').keeper.process?.pid ?? 0
  process.kill(keeper, 'SIGKILL')
  await follower.untilPrinted('does not respond, so every link is down')
  const past = await eventsOf(home)
  expect(past.map(({ id }) => id)).toEqual(past.map((_, index) => index + 1))
  expect(shown(past)).toEqual(
    expect.arrayContaining([
      '- fault-set',
      '- fault-expired',
      'A command crash',
      'A process running stopped',
      'B role dr secondary primary',
      'A command start',
    ]),
  )
  const promote = past.find(({ kind, details }) => kind === 'call' && String(details.path).endsWith('/promote'))
  expect(promote?.command).toContain('dr_operation_token="$DR_OPERATION_TOKEN"')

  expect((await home.run('start', ...NAMED)).status).toBe(0)
  await until(() => parse(follower.stdout).filter(({ kind }) => kind === 'daemon-started').length === 2)
  expect((await eventsOf(home)).map(({ id }) => id)).toEqual((await eventsOf(home)).map((_, index) => index + 1))

  const table = await home.run('events', '--since', '1h', ...NAMED)
  expect(table.stdout).toMatch(/^\d\d:\d\d:\d\d\.\d{3} A {2}command {8}understudy crash A --name one$/m)
  expect(await home.run('events', '--since', 'ever', ...NAMED)).toMatchObject({ status: 1 })

  expect((await home.run('down', 'one')).status).toBe(0)
  expect(await follower.end()).toBe(0)
  expect([home.processes(), home.left()]).toEqual([[], []])
})

it('events ends when it is interrupted, and when its output is closed', async () => {
  await using home = new LabHome()
  expect((await home.run('up', 'single', '--ports', 'random', ...NAMED)).status).toBe(0)
  const follower = home.begin('events', '-f', ...NAMED)
  await follower.untilPrinted('the lab is up')
  follower.signal('SIGINT')
  expect(await follower.end()).toBe(0)
  const unread = home.begin('events', '-f', ...NAMED)
  await unread.untilPrinted('the lab is up')
  unread.stopReading()
  await home.run('restart', 'A', ...NAMED)
  expect(await unread.exit).toBe(0)
})

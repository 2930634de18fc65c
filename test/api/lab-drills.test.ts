import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { ApiClient } from '../../src/client/api-client.js'
import type { DrillResult } from '../../src/lab/drills/context/result.js'
import { createProcessTable } from '../../src/lab/model/process-table.js'
import { LabHome } from '../support/lab-home.js'
import { OutageObserver } from '../support/outage-observer.js'
import { runProgram } from '../support/program.js'
import { until } from '../support/until.js'

const HEAD = 'apiVersion: understudy/v1\nkind: Drill\n'

/** Writes the file of a drill to the directory of a home. */
const write = (home: LabHome, name: string, text: string): string => {
  const file = path.join(home.directory, name)
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, HEAD + text)
  return file
}

const FAILOVER = `topology: dr
load: { writers: 2, logins: 1, readers: 1, tokens: 2 }
steps:
  - name: clients work with A
    wait: 500ms
  - name: the primary is lost
    crash: A
  - name: B takes over
    promote: { cluster: B, kind: dr, force: true }
  - wait: { for: accepting-writes, cluster: B, within: 60s }
expect:
  - rpo: { writes-lost: { at-most: 20 } }
  - tokens: { survived: all }
  - primaries: { kind: dr, are: [B] }
`

it('drill commands show drills, and name the position of an error in a file', async () => {
  await using home = new LabHome()
  const good = write(home, 'good.yaml', FAILOVER)
  expect(await home.run('drill', 'validate', good)).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('the drill good, 4 steps, 3 expectations'),
  })
  expect((await home.run('drill', 'show', good)).stdout).toContain('2. the primary is lost: crash A')
  expect((await home.run('drill', 'show', good, '--yaml')).stdout.trim()).toBe((HEAD + FAILOVER).trim())
  expect(JSON.parse((await home.run('drill', 'schema')).stdout)).toMatchObject({ title: 'Drill' })
  const listed = await home.run('drill', 'list', '--json')
  expect(listed.status).toBe(0)
  const rows = JSON.parse(listed.stdout) as { name: string; topology: string }[]
  // Its topology is a file of the package.
  expect(rows.find(({ name }) => name === 'wrong-ca')).toMatchObject({ topology: 'pr-tls' })
  // Output to a pipe has no maximum line length.
  expect((await home.run('drill', 'list')).stdout.trim().split('\n')).toHaveLength(rows.length)

  const bad = write(home, 'bad.yaml', 'topology: dr\nsteps:\n  - crash: Q\n  - promot: { cluster: B }\n')
  const refusals: readonly [readonly string[], string][] = [
    [['validate', bad], `${bad}:6:5: unknown key "steps[1].promot"; did you mean "promote"?`],
    [['validate', `${bad}.yaml`], 'cannot be read'],
    [['run', 'no-such-drill'], 'there is no drill "no-such-drill"; "understudy drill list" lists the included drills'],
    [['run', good, '--on', 'in-process', '--keep'], '--keep requires --on process'],
    [['run', good, '--step'], '--step waits for Enter, which requires a terminal'],
    [['run', good, '--slo', 'rto=soon'], '"rto=soon" is not a limit such as'],
    [['run', good, '--name', 'nobody'], 'there is no lab "nobody"'],
    [['run', good, '--seed', '7'], '--seed requires --on in-process'],
    [['run', good, '--seed', '7', '--on', 'process'], '--seed requires --on in-process'],
    [['run', good, '--seed', '7', '--name', 'one', '--on', 'in-process'], '--seed requires --on in-process'],
  ]
  for (const [args, text] of refusals) {
    const { status, stdout, stderr } = await home.run('drill', ...args)
    expect([status, stderr], args.join(' ')).toEqual([1, expect.stringContaining(text)])
    expect(stdout).not.toContain('✗')
  }
})

it('drill run plays a drill on its own lab, judges it, and leaves nothing', { timeout: 600_000 }, async () => {
  await using home = new LabHome()
  const out = path.join(home.directory, 'out')
  const file = write(home, 'failover.yaml', FAILOVER)
  const { status, stdout } = await home.run('drill', 'run', file, '--slo', 'rto=60s,rpo=20', '--report', out)
  expect([status, stdout]).toEqual([
    0,
    expect.stringMatching(/RTO [\d.]+ m?s \(slo 60 s\) ✓ {2}RPO \d+ writes? ✓ {2}tokens 2\/2 ✓\npassed after /),
  ])
  expect(stdout).toContain('✓ rto at most 60s\n')
  expect(stdout).toMatch(/\[2\/4\] the primary is lost: crash A\n +\$ understudy crash A\n +✓ /)
  expect(stdout).toContain('sys/replication/dr/secondary/promote dr_operation_token="$DR_OPERATION_TOKEN" force=true')
  const report = JSON.parse(readFileSync(path.join(out, 'report.json'), 'utf8')) as DrillResult
  expect(report).toMatchObject({ verdict: 'passed', runner: 'process', topology: 'dr', rto: { acceptedBy: 'B' } })
  expect(report.howToRepeat).toContain(`drill run ${file} --slo rto=60s,rpo=20 --on process`)
  expect([report.howToRepeat.includes('--seed'), report.seed], 'a seed has no effect on processes').toEqual([false, ''])
  expect([home.left(), home.processes()]).toEqual([[], []])

  const strict = write(home, 'strict.yaml', `${FAILOVER}  - health: { cluster: B, is: 472, within: 0s }\n`)
  const failed = await home.run('drill', 'run', strict, '--on', 'in-process', '--slo', 'rto=1ms')
  expect(failed.status).toBe(3)
  expect(failed.stdout).toMatch(/RTO .* \(slo 1 ms\) ✗/)
  expect(failed.stderr).toContain('did not pass: sys/health of B returns 472; rto at most 1ms')

  const seeded = await home.run('drill', 'run', strict, '--on', 'in-process', '--seed', '7', '--json')
  expect(JSON.parse(seeded.stdout)).toMatchObject({ seed: '7', howToRepeat: expect.stringMatching(/ --seed 7$/) })
  expect(seeded.stderr).toContain('drill strict on a new lab, dr (in-process), seed 7\n')
  expect(seeded.stderr).toMatch(/^cluster B is a dr secondary of A and replicated$/m)
  const quiet = await home.run('drill', 'run', file, '--on', 'in-process', '--quiet')
  expect(quiet).toMatchObject({ status: 0, stdout: expect.stringMatching(/^RTO .*\npassed after .*\n$/), stderr: '' })
})

it('a drill report records the operator, the approver, the change and the environment', async () => {
  await using home = new LabHome()
  const file = write(home, 'short.yaml', 'topology: single\nsteps:\n  - wait: 10ms\n')
  const out = path.join(home.directory, 'out')
  const { status, stderr } = await runProgram(
    ['drill', 'run', file, '--on', 'in-process', '--report', out, '--operator', 'Ada', '--change', 'CHG-17'],
    { env: { XDG_STATE_HOME: home.directory, UNDERSTUDY_APPROVER: 'Grace', UNDERSTUDY_CHANGE: 'CHG-16' } },
  )
  expect([status, stderr]).toEqual([0, expect.any(String)])
  const report = JSON.parse(readFileSync(path.join(out, 'report.json'), 'utf8')) as DrillResult
  expect(report.audit).toEqual({ operator: 'Ada', approver: 'Grace', change: 'CHG-17', environment: '' })
})

it('a drill on a running lab measures the same as an independent observer, and leaves it running', {
  timeout: 600_000,
}, async () => {
  await using home = new LabHome()
  expect((await home.run('up', 'dr', '--name', 'one', '--ports', 'random')).status).toBe(0)
  const [a, b] = home.record('one').clusters
  const client = new ApiClient({ address: a?.apiAddress ?? '', token: a?.rootToken })
  await client.write('sys/mounts/observer', { type: 'kv' })
  client.close()
  const observer = new OutageObserver(a?.apiAddress ?? '', b?.apiAddress ?? '', a?.rootToken ?? '')
  const file = write(home, 'failover.yaml', FAILOVER)
  const run = await home.run('drill', 'run', file, '--name', 'one', '--json')
  const outage = await observer.stop()
  const result = JSON.parse(run.stdout) as DrillResult
  expect([run.status, result.verdict]).toEqual([0, 'passed'])
  expect(result.rpo?.sloWrites).toBe(20)
  // Each cluster detects the outage through its own requests, so the values differ by the duration of a request and by
  // pauses of the machine.
  expect(Math.abs((result.rto?.ms ?? 0) - outage.ms)).toBeLessThan(4 * outage.resolutionMs + 2000)
  expect(home.left()).toEqual(['one'])
  expect(home.servers()).toHaveLength(1)

  // The roles have changed: no step is played, and no command waits.
  const refused = (why: string) => ({ status: 5, stdout: '', stderr: expect.stringContaining(why) })
  expect(await home.run('drill', 'run', file, '--name', 'one', '--json')).toMatchObject(
    refused('requires the topology dr, but in the lab "one" A does not respond'),
  )
  expect((await home.run('start', 'A', '--name', 'one')).status).toBe(0)
  expect(await home.run('drill', 'run', file, '--name', 'one', '--json')).toMatchObject(
    refused('in the lab "one" B is not a dr secondary of A'),
  )
  expect((await home.run('reset', '--name', 'one')).status).toBe(0)
  expect((await home.run('drill', 'run', file, '--name', 'one', '--json')).status).toBe(0)
})

it('a drill without --name or --on runs on the current lab if that fits, and otherwise on a new lab', {
  timeout: 600_000,
}, async () => {
  await using home = new LabHome()
  expect((await home.run('up', 'dr', '--in-process', '--ports', 'random', '--shamir', '3/2', '--tls')).status).toBe(0)
  const single = write(home, 'single.yaml', 'topology: single\nsteps:\n  - wait: 1ms\n')
  const other = await home.run('drill', 'run', single)
  expect([other.status, other.stdout]).toEqual([
    0,
    expect.stringMatching(/^drill single on a new lab, single \(process\)/),
  ])
  expect(other.stderr).toContain('the lab "default" does not fit')
  expect(other.stderr).toContain('the drill requires the topology single')

  const crash = write(home, 'crash.yaml', 'topology: dr\nsteps:\n  - crash: A\n')
  const own = await home.run('drill', 'run', crash, '--on', 'in-process')
  expect([own.status, own.stdout]).toEqual([0, expect.stringContaining('on a new lab, dr (in-process)')])
  const fits = await home.run('drill', 'run', crash, '--report', path.join(home.directory, 'out'))
  expect([fits.status, fits.stdout]).toEqual([0, expect.stringMatching(/^drill crash on the lab "default"$/m)])
  const report = JSON.parse(readFileSync(path.join(home.directory, 'out', 'report.json'), 'utf8')) as DrillResult
  expect(report.howToRepeat).toContain('--name default')

  const again = await home.run('drill', 'run', crash)
  expect(again.stderr).toContain('the lab "default" A does not respond')
  expect([again.status, again.stdout]).toEqual([0, expect.stringContaining('on a new lab, dr (process)')])
  expect(home.left()).toEqual(['default'])
})

it('an interrupted drill run takes its lab down', { timeout: 600_000 }, async () => {
  await using home = new LabHome()
  const file = write(home, 'long.yaml', 'topology: single\nload: { writers: 1 }\nsteps:\n  - wait: 10m\n')
  await using program = home.begin('drill', 'run', file)
  await program.untilPrinted('[1/1]')
  expect(home.servers()).toHaveLength(1)
  program.signal('SIGINT')
  expect(await program.end()).toBe(130)
  expect(program.stderr).toContain('interrupted')
  expect([home.left(), home.processes()]).toEqual([[], []])
})

/** Writes the IDs of its process and of a background process, and the directory of `understudy`. */
const leaveBehind = (noted: string): string =>
  `sleep 1000 >/dev/null 2>&1 & printf '%s\\n' $$ $! "$PATH" > ${noted}.part; mv ${noted}.part ${noted}`

const table = createProcessTable()

const isGone = (noted: string): boolean => {
  const [shell, background, searched = ''] = readFileSync(noted, 'utf8').split('\n')
  return ![shell, background].some((pid) => table.find(Number(pid))) && !existsSync(searched.split(':').at(-1) ?? '')
}

it('the processes of drill steps end with the drill, even if it is killed', { timeout: 240_000 }, async () => {
  await using home = new LabHome()
  const first = path.join(home.directory, 'first')
  const second = path.join(home.directory, 'second')
  const steps = (...commands: string[]) =>
    `topology: single\nsteps:\n${commands.map((text) => `  - run: { cluster: A, command: ${JSON.stringify(text)} }\n`).join('')}`
  const whole = write(
    home,
    'whole.yaml',
    steps(leaveBehind(first), `kill -0 $(sed -n 2p ${first})`, ': private; ! grep -q private /proc/$$/cmdline'),
  )
  expect(await home.run('drill', 'run', whole)).toMatchObject({ status: 0 })
  await until(() => isGone(first))

  const killed = write(home, 'killed.yaml', steps(`${leaveBehind(second)}; sleep 1000`))
  await using program = home.begin('drill', 'run', killed)
  await until(() => existsSync(second))
  program.signal('SIGKILL')
  await program.exit
  await until(() => isGone(second))
  expect(await home.run('down', '--all')).toMatchObject({ status: 0 })
})

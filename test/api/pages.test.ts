import { execFile, spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { Installation } from '../support/installation.js'
import { LabHome } from '../support/lab-home.js'
import { blocksToRun, type Page, type Reader, readPage, readPages, ROOT, toScript } from '../support/pages.js'
import { shareOfDay } from '../support/share-of-day.js'

/** Finds the program that gives a command a terminal: `script` of util-linux. The flags of other versions differ. */
const findScript = (): string | undefined =>
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') ? 'script' : undefined

/**
 * Runs every command of the README and of the guides as a user of the packed package would: the blocks of a page in
 * sequence, in one shell, in an empty directory and a separate home. Only the ports differ, because another lab may run
 * on this machine. A comment above a block states why it is not run.
 */

const PAGES = readPages()
const SCRIPT = findScript()

/** Timeout of a page, which starts several labs and drills. */
const LONG_MS = 400_000

/** Writes a program for the shell. */
const writeProgram = (file: string, ...lines: string[]): void => {
  rmSync(file, { force: true })
  writeFileSync(file, `#!/bin/sh\n${lines.join('\n')}\n`)
  chmodSync(file, 0o755)
}

let installed: Installation
beforeAll(async () => {
  installed = await Installation.make()
  const main = path.join(installed.packageDirectory, 'dist', 'main.js')
  const randomPorts = 'if [ "$1" = up ]; then shift; set -- up --ports random "$@"; fi'
  writeProgram(path.join(installed.bin, 'understudy'), randomPorts, `exec '${process.execPath}' '${main}' "$@"`)
  // The stock client, and the tests of a reader: these only check that they get a cluster that accepts their token.
  writeProgram(path.join(installed.bin, 'vault'), 'exec understudy vault "$@"')
  writeProgram(path.join(installed.bin, 'go'), 'exec understudy vault token lookup')
}, LONG_MS)
afterAll(() => installed?.[Symbol.asyncDispose]())

interface Desk {
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
}

/** Creates an empty directory in the project of a reader. */
const makeDesk = (home: LabHome): Desk => {
  const cwd = path.join(installed.directory, path.basename(home.directory))
  mkdirSync(cwd, { recursive: true })
  const env = {
    PATH: `${installed.bin}:${path.dirname(process.execPath)}:${process.env.PATH}`,
    HOME: home.directory,
    XDG_STATE_HOME: home.directory,
    TMPDIR: '/tmp',
    TERM: 'xterm-256color',
    UNDERSTUDY_RANDOM_PORTS: process.env.UNDERSTUDY_RANDOM_PORTS,
    ...installed.env,
  }
  return { cwd, env }
}

interface Ended {
  readonly status: unknown
  readonly stdout: string
  readonly stderr: string
}

const run = (program: string, args: readonly string[], at: Desk) =>
  new Promise<Ended>((resolve) => {
    const child = execFile(program, args, at, (error, stdout, stderr) =>
      resolve({ status: error ? error.code : 0, stdout, stderr }),
    )
    child.stdin?.end()
  })

/** Runs the file in a terminal, with a user who presses q to end commands that q ends, and confirms the erasure of data. */
const runInTerminal = (program: string, file: string, at: Desk) =>
  new Promise<Ended>((resolve, reject) => {
    const child = spawn(program, ['-qefc', `bash ${file}`, '/dev/null'], { ...at, stdio: ['pipe', 'pipe', 'ignore'] })
    let stdout = ''
    let isTyped = false
    let answers = 0
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += String(chunk)
      for (; answers < stdout.split('Continue? (y/N)').length - 1; answers += 1) child.stdin.write('y\n')
      if (isTyped || !stdout.includes('(press q to quit)')) return
      isTyped = true
      child.stdin.write('q')
    })
    child.once('error', reject)
    child.once('close', (status) => resolve({ status, stdout, stderr: '' }))
  })

const having = (language: string): Page[] => PAGES.filter((page) => blocksToRun(page, language).length > 0)

/** The pages whose commands run in a terminal. The longer pages have the same commands. */
const TYPED = ['README.md', 'docs/how-to/write-a-drill.md', 'docs/how-to/run-a-lab.md', 'docs/how-to/test-in-ci.md']

/** The README on every level, and two guides per day outside of the nightly level. */
const isReadme = ({ name }: Page): boolean => name === 'README.md'
const pagesOfDay = (language: string): readonly Page[] => {
  const pages = having(language)
  const guides = pages.filter((page) => !isReadme(page))
  return [...pages.filter(isReadme), ...shareOfDay(guides, 2)]
}
/** Only at the nightly level. The other levels run the same commands without a terminal. */
const isTyped = (page: Page): boolean => inject('level') === 'nightly' && TYPED.includes(page.name)

const runPage = async (page: Page, reader: Reader, home: LabHome): Promise<Ended> => {
  const desk = makeDesk(home)
  const script = toScript(page, reader)
  if (reader === 'job') return run('bash', ['-c', script], desk)
  const file = path.join(home.directory, 'typed.sh')
  writeFileSync(file, script)
  return runInTerminal(SCRIPT ?? '', file, desk)
}

const expectToRun = async (page: Page, reader: Reader): Promise<void> => {
  await using home = new LabHome()
  const { status, stdout, stderr } = await runPage(page, reader, home)
  expect(status, `${stdout}\n${stderr}`).toBe(0)
  expect({ left: home.left(), processes: home.processes() }, 'what a page starts it ends').toEqual({
    left: [],
    processes: [],
  })
}

describe('commands of a page', { timeout: LONG_MS }, () => {
  it.each(pagesOfDay('sh').map((page) => [page.name, page] as const))('%s run unchanged', (_, page) =>
    expectToRun(page, 'job'),
  )

  const typed = having('sh').filter(isTyped)
  const name = SCRIPT
    ? '%s run in a terminal'
    : '%s run in a terminal: not tried, as there is no `script` of util-linux'
  it.skipIf(!SCRIPT).each(typed.map((page) => [page.name, page] as const))(name, (_, page) =>
    expectToRun(page, 'terminal'),
  )

  it.skipIf(!SCRIPT)('the page check runs typed commands in a terminal and reports their failures', async () => {
    await using home = new LabHome()
    const typed = (line: string) => runPage(readPage('x.md', `\`\`\`sh\n${line}\necho after\n\`\`\``), 'terminal', home)
    expect(await typed('test -t 0 && test -t 1 && test -t 2')).toMatchObject({ status: 0 })
    const failed = await typed('understudy env A')
    expect(failed).toMatchObject({ status: 1, stdout: expect.not.stringContaining('after') })
  })

  it('the page check reports commands that fail and exit codes other than documented', async () => {
    await using home = new LabHome()
    const desk = makeDesk(home)
    const statusOf = async (line: string) =>
      (await run('bash', ['-c', toScript(readPage('x.md', `\`\`\`sh\n${line}\necho after\n\`\`\``))], desk)).status
    expect(await statusOf('understudy ls')).toBe(0)
    expect(await statusOf('understudy env A')).toBe(1)
    expect(await statusOf('understudy env A # exits with 1')).toBe(0)
    expect(await statusOf('understudy ls # exits with 1')).toBe(1)
  })
})

describe('programs of a page', { timeout: LONG_MS }, () => {
  it.each(pagesOfDay('ts').map((page) => [page.name, page] as const))('%s run unchanged', async (_, page) => {
    await using home = new LabHome()
    const desk = makeDesk(home)
    for (const { text, line } of blocksToRun(page, 'ts')) {
      const file = path.join(desk.cwd, `line-${line}.ts`)
      writeFileSync(file, text)
      const tsx = path.join(ROOT, 'node_modules', 'tsx', 'dist', 'cli.mjs')
      expect(await run(process.execPath, [tsx, file], desk), `${page.name}, line ${line}`).toMatchObject({ status: 0 })
    }
  })
})

/** Commands that operators and developers of SDKs are likely to type. */
const WANTED = [
  'understudy up pr-dr --shamir 5/3 --tls',
  'eval "$(understudy env A)" && vault status',
  'understudy drill run dr-failover --slo rto=60s,rpo=0 --report out/',
  'understudy fault partition A B --for 30s --one-way',
  'understudy status --watch',
  'understudy down',
  'understudy up --file test/topology.yaml --ports random --json > lab.json',
  'understudy wait --for replicated --timeout 20s',
  'understudy exec C -- go test ./... -run Replication',
  'understudy fault hold C --state merkle-sync',
  'understudy logs --all --export ci-artifacts/',
  "await using lab = await startLab('pr-dr', { seed: 42 })",
  "lab.link('A', 'C').partition()",
  'await lab.converged()',
  "lab.clock.advance('31m')",
]

describe('the pages', () => {
  it.each(WANTED)('the commands that the pages run include: %s', (wanted) => {
    const lines = PAGES.flatMap((page) => ['sh', 'ts'].flatMap((language) => blocksToRun(page, language)))
      .flatMap(({ text }) => text.split('\n'))
      .map((line) => line.replace(/\s+(?:#|\/\/).*$/, ''))
    expect(lines).toContain(wanted)
  })

  it('the pages give a reason for each command that is not run', () => {
    const blocks = PAGES.flatMap(({ name, blocks: all }) => all.map((block) => ({ name, ...block })))
    const unmarked = blocks.filter(
      ({ language }) => !['', 'text', 'sh', 'ts', 'yaml', 'json', 'hcl'].includes(language),
    )
    expect(unmarked).toEqual([])
    expect(blocks.filter(({ language, notRun }) => language === 'sh' && notRun === undefined).length).toBeGreaterThan(5)
    const markers = PAGES.flatMap(({ text }) => text.match(/<!-- not run from the page/g) ?? [])
    expect(blocks.filter(({ notRun }) => notRun !== undefined)).toHaveLength(markers.length)
  })

  it('the pages link only to files that exist', () => {
    const broken = PAGES.flatMap(({ name, text }) =>
      [...text.matchAll(/\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)/g)]
        .map(([, target = '']) => path.join(path.dirname(name), target))
        .filter((target) => !existsSync(path.join(ROOT, target)))
        .map((target) => `${name}: ${target}`),
    )
    expect(broken).toEqual([])
  })

  it('the README has fewer than 150 lines', () => {
    const readme = PAGES.find(({ name }) => name === 'README.md')
    expect(readme?.text.split('\n').length).toBeLessThan(150)
  })
})

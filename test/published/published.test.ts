import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'

/** The packed package in a foreign project: the registry installs it, and each folder of `test/package` uses it. */
const ROOT = path.join(import.meta.dirname, '..', '..')
const TOOLS = ['jest@30', 'ts-jest@29', 'typescript@5.9', 'vitest@4', '@types/node@20', '@types/jest@30']
const isNightly = inject('level') === 'nightly'
/** The oldest and the newest Node show what differs; the nightly level runs every version. */
const NODES = isNightly ? ['20.12', '20', '22', '24'] : ['20.12', '24']
const RUN_MS = 300_000

interface Run {
  readonly name: string
  /** Below node_modules. */
  readonly program?: string
  readonly args: readonly string[]
  /** Below the project. */
  readonly cwd: string
  /** The first version of Node that the tool itself runs on. */
  readonly since?: number
  /** Outside of the nightly level it runs on the newest Node alone. */
  readonly isSlow?: boolean
}

const JEST = { program: 'jest/bin/jest.js', args: ['--ci', '--detectOpenHandles', '--rootDir', '.'] } as const
const COMPILER = [
  ...['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2022'],
  ...['--lib', 'es2023,esnext.disposable', '--types', 'node'],
]
const compile = (name: string, ...args: string[]): Run => ({
  name,
  program: 'typescript/bin/tsc',
  args: [...COMPILER, ...args],
  cwd: 'types',
})

const RUNS: readonly Run[] = [
  { name: 'import', args: ['import.mjs'], cwd: 'plain' },
  { name: 'require', args: ['require.cjs'], cwd: 'plain' },
  { name: 'node:test', args: ['--test', 'lab.test.mjs'], cwd: 'node-test' },
  { name: 'jest', ...JEST, cwd: 'jest', isSlow: true },
  { name: 'ts-jest', ...JEST, cwd: 'ts-jest', isSlow: true },
  { name: 'vitest', program: 'vitest/vitest.mjs', args: ['run'], cwd: 'vitest', since: 20.19 },
]

/** Types are the same on every Node. The first run checks the declarations; the others check how compilers find them. */
const TYPES: readonly Run[] = [
  compile('nodenext', '--module', 'nodenext', 'use.mts', 'use.cts'),
  compile('bundler', '--skipLibCheck', '--module', 'esnext', '--moduleResolution', 'bundler', 'use.mts'),
  compile('node10', '--skipLibCheck', '--module', 'commonjs', '--moduleResolution', 'node10', 'old.ts'),
]

const project = mkdtempSync(path.join(tmpdir(), 'understudy-published-'))

/** Variables of the test runner do not reach the runners that the test starts. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/VITEST|NODE_ENV|^TEST$/.test(name)))

const call = (program: string, args: readonly string[], cwd: string): Promise<{ status: unknown; text: string }> =>
  new Promise((resolve) => {
    const options = { cwd, env, timeout: RUN_MS, killSignal: 'SIGKILL' } as const
    const child = execFile(program, args, options, (error, stdout, stderr) =>
      resolve({ status: error?.killed ? `no end after ${RUN_MS} ms` : (error?.code ?? 0), text: stdout + stderr }),
    )
    child.stdin?.end()
  })

const need = async (program: string, args: readonly string[], cwd: string): Promise<void> => {
  const { status, text } = await call(program, args, cwd)
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed:\n${text}`)
}

const QUIET = ['--no-audit', '--no-fund', '--silent']

const installNode = async (version: string): Promise<string> => {
  const binary = `node-${process.platform}-${process.arch}`
  const place = path.join(project, 'nodes', version)
  mkdirSync(place, { recursive: true })
  writeFileSync(path.join(place, 'package.json'), '{ "private": true }')
  await need('npm', ['install', ...QUIET, `${binary}@${version}`], place)
  return path.join(place, 'node_modules', binary, 'bin', 'node')
}

const runsUnder = async (node: string, { program, args, cwd }: Run): Promise<void> => {
  const tool = program ? [path.join(project, 'node_modules', program)] : []
  const { status, text } = await call(node, [...tool, ...args], path.join(project, cwd))
  expect(status, text).toBe(0)
  expect(text).not.toMatch(/open handle|did not exit/i)
}

beforeAll(async () => {
  await need('npm', ['pack', '--ignore-scripts', '--silent', `--pack-destination=${project}`], ROOT)
  cpSync(path.join(ROOT, 'test', 'package'), project, { recursive: true })
  // Old compilers resolve no `exports` and accept no `.mts`.
  cpSync(path.join(project, 'types', 'use.mts'), path.join(project, 'types', 'old.ts'))
  writeFileSync(path.join(project, 'package.json'), '{ "name": "scratch", "private": true }')
  const install = ['npm', 'install', ...QUIET, './understudy-lab-*.tgz', ...TOOLS].join(' ')
  await need('bash', ['-c', install], project)
})
afterAll(() => rmSync(project, { recursive: true, force: true }))

it.each(TYPES)('the types of the installed package compile with module resolution $name', (run) =>
  runsUnder(process.execPath, run),
)

describe.each(NODES)('Node %s', (version) => {
  let node: string
  beforeAll(async () => {
    node = await installNode(version)
  })
  const number = Number(version.includes('.') ? version : `${version}.99`)
  const isNewest = version === NODES.at(-1)
  const runs = RUNS.filter(({ since = 0, isSlow }) => since <= number && (!isSlow || isNightly || isNewest))
  it.each(runs)('the installed package works with $name', (run) => runsUnder(node, run))
})

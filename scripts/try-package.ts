import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ROOT } from './support/run.js'

/**
 * The packed package in a project of somebody else's: each folder of `test/package` is run on every Node that is supported,
 * installed from the registry. `npm run try-package -- 22 24` takes some of them. The last line is "N passed, M failed".
 */
const NODES = ['20.12', '20', '22', '24']
const TOOLS = ['jest@30', 'ts-jest@29', 'typescript@5.9', 'vitest@4', '@types/node@20', '@types/jest@30']
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
}

const JEST = { program: 'jest/bin/jest.js', args: ['--ci', '--detectOpenHandles', '--rootDir', '.'] } as const
const COMPILER = [
  ...['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2022'],
  ...['--lib', 'es2023,esnext.disposable', '--types', 'node'],
]
const compile = (name: string, ...args: string[]): Run => ({
  name: `types: ${name}`,
  program: 'typescript/bin/tsc',
  args: [...COMPILER, ...args],
  cwd: 'types',
})

const RUNS: readonly Run[] = [
  { name: 'import', args: ['import.mjs'], cwd: 'plain' },
  { name: 'require', args: ['require.cjs'], cwd: 'plain' },
  { name: 'node:test', args: ['--test', 'lab.test.mjs'], cwd: 'node-test' },
  { name: 'jest', ...JEST, cwd: 'jest' },
  { name: 'ts-jest', ...JEST, cwd: 'ts-jest' },
  { name: 'vitest', program: 'vitest/vitest.mjs', args: ['run'], cwd: 'vitest', since: 20.19 },
]

/** Types are the same on every Node. */
const TYPES: readonly Run[] = [
  compile('nodenext', '--module', 'nodenext', 'use.mts', 'use.cts'),
  compile('bundler', '--module', 'esnext', '--moduleResolution', 'bundler', 'use.mts'),
  compile('node10', '--module', 'commonjs', '--moduleResolution', 'node10', 'old.ts'),
]

const project = mkdtempSync(path.join(tmpdir(), 'understudy-try-'))

const call = (program: string, args: readonly string[], cwd: string): Promise<{ ok: boolean; text: string }> =>
  new Promise((resolve) => {
    const child = execFile(program, args, { cwd, timeout: RUN_MS, killSignal: 'SIGKILL' }, (error, stdout, stderr) =>
      resolve({ ok: error === null, text: stdout + stderr + (error?.killed ? `\nno end after ${RUN_MS} ms` : '') }),
    )
    child.stdin?.end()
  })

const need = async (program: string, args: readonly string[], cwd: string): Promise<void> => {
  const { ok, text } = await call(program, args, cwd)
  if (!ok) throw new Error(`${program} ${args.join(' ')} failed:\n${text}`)
}

const installNode = async (version: string): Promise<string> => {
  const binary = `node-${process.platform}-${process.arch}`
  const place = path.join(project, 'nodes', version)
  mkdirSync(place, { recursive: true })
  writeFileSync(path.join(place, 'package.json'), '{ "private": true }')
  await need('npm', ['install', '--no-audit', '--no-fund', '--silent', `${binary}@${version}`], place)
  return path.join(place, 'node_modules', binary, 'bin', 'node')
}

const attempt = async (node: string, version: string, { name, program, args, cwd }: Run): Promise<boolean> => {
  const tool = program ? [path.join(project, 'node_modules', program)] : []
  const { ok, text } = await call(node, [...tool, ...args], path.join(project, cwd))
  const isLeft = /open handle|did not exit/i.test(text)
  console.log(`${ok && !isLeft ? 'passed' : 'FAILED'}  Node ${version.padEnd(6)} ${name}`)
  if (!ok || isLeft) console.log(text.replace(/^/gm, '    '))
  return ok && !isLeft
}

const chosen = process.argv.slice(2)
const outcomes: boolean[] = []
try {
  await need('npm', ['pack', '--ignore-scripts', '--silent', `--pack-destination=${project}`], ROOT)
  cpSync(path.join(ROOT, 'test', 'package'), project, { recursive: true })
  // Compilers of old resolve no `exports`, and take no `.mts`.
  cpSync(path.join(project, 'types', 'use.mts'), path.join(project, 'types', 'old.ts'))
  writeFileSync(path.join(project, 'package.json'), '{ "name": "scratch", "private": true }')
  await need(
    'bash',
    ['-c', `npm install --no-audit --no-fund --silent ./understudy-lab-*.tgz ${TOOLS.join(' ')}`],
    project,
  )
  for (const run of TYPES) outcomes.push(await attempt(process.execPath, 'any', run))
  for (const version of chosen.length > 0 ? chosen : NODES) {
    const node = await installNode(version)
    const runs = RUNS.filter(({ since = 0 }) => since <= Number(/\./.test(version) ? version : `${version}.99`))
    for (const run of runs) outcomes.push(await attempt(node, version, run))
  }
} finally {
  rmSync(project, { recursive: true, force: true })
}
const failed = outcomes.filter((isPassed) => !isPassed).length
console.log(`${outcomes.length - failed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1

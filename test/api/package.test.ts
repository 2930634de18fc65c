import { execFile } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** The package as it would be published, used from a project of somebody else's. */

const ROOT = path.join(import.meta.dirname, '..', '..')
const NAME = 'understudy-lab'
const run = promisify(execFile)

let project: string
const inProject = async (program: string, ...args: string[]): Promise<string> =>
  (await run(program, args, { cwd: project, env: { ...process.env, npm_config_update_notifier: 'false' } })).stdout

/** What an installation leaves: the files of the package, what it depends on, and a link for its command, which may be run. */
const installPacked = async (): Promise<void> => {
  const quiet = ['--ignore-scripts', '--silent', `--pack-destination=${project}`]
  await run('npm', ['pack', ...quiet], { cwd: ROOT })
  const [tarball = ''] = readdirSync(project).filter((file) => file.endsWith('.tgz'))
  const place = path.join(project, 'node_modules', NAME)
  mkdirSync(place, { recursive: true })
  await inProject('tar', '-xzf', tarball, '--strip-components=1', '-C', place)
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(place, 'node_modules'))
  mkdirSync(path.join(project, 'node_modules', '.bin'))
  const { bin } = JSON.parse(readFileSync(path.join(place, 'package.json'), 'utf8')) as { bin: Record<string, string> }
  for (const [command, file] of Object.entries(bin)) {
    chmodSync(path.join(place, file), 0o755)
    symlinkSync(path.join('..', NAME, file), path.join(project, 'node_modules', '.bin', command))
  }
}

beforeAll(async () => {
  project = mkdtempSync(path.join(tmpdir(), 'understudy-package-'))
  writeFileSync(path.join(project, 'package.json'), '{ "name": "scratch", "version": "1.0.0", "type": "module" }')
  await installPacked()
})

afterAll(() => rmSync(project, { recursive: true, force: true }))

describe('the packed package', () => {
  it('the packed package has the name understudy-lab and the one command understudy', () => {
    const file = path.join(project, 'node_modules', NAME, 'package.json')
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ name: NAME, bin: { understudy: 'dist/main.js' } })
    expect(readdirSync(path.join(project, 'node_modules', '.bin'))).toEqual(['understudy'])
  })

  it('the packed package starts a lab in a project that imports it by name', async () => {
    const text = `
      import { startLab } from '${NAME}'
      await using lab = await startLab('single')
      await lab.A.client.write('sys/mounts/kv', { type: 'kv' })
      await lab.A.client.write('kv/greeting', { word: 'hello' })
      const { json } = await lab.A.client.send('GET', 'kv/greeting')
      console.log(json.data.word)
    `
    // Node 20 does not know the declaration yet, which compilers turn into a try and a finally.
    const plain = text.replace('await using lab', 'const lab').concat('\nawait lab[Symbol.asyncDispose]()\n')
    writeFileSync(path.join(project, 'use.js'), plain)
    expect(await inProject(process.execPath, 'use.js')).toBe('hello\n')
  })

  it.each(['import.mjs', 'require.cjs'])('the packed package exports the same by %s', async (file) => {
    cpSync(path.join(ROOT, 'test', 'package', 'plain', file), path.join(project, file))
    expect(await inProject(process.execPath, file)).toBe('ok\n')
  })

  it("the types of the packed package reject unknown names in ES modules and CommonJS, with Node's types alone", async () => {
    for (const file of ['use.mts', 'use.cts']) {
      cpSync(path.join(ROOT, 'test', 'package', 'types', file), path.join(project, file))
    }
    const flags = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--module', 'nodenext', '--target', 'es2022']
    const types = ['--types', 'node', '--typeRoots', path.join(ROOT, 'node_modules', '@types')]
    const compiler = path.join(ROOT, 'node_modules', '.bin', 'tsc')
    const lib = ['--lib', 'es2023,esnext.disposable']
    expect(await inProject(compiler, ...flags, ...lib, ...types, 'use.mts', 'use.cts')).toBe('')
  })

  it('the packed package has types for a strict compilation', async () => {
    writeFileSync(
      path.join(project, 'use.ts'),
      `import { startLab, type LabCluster } from '${NAME}'\nexport const first = async (): Promise<LabCluster> => (await startLab('dr')).A\n`,
    )
    const flags = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2022']
    const types = ['--types', 'node', '--typeRoots', path.join(ROOT, 'node_modules', '@types')]
    const compiler = path.join(ROOT, 'node_modules', '.bin', 'tsc')
    await expect(inProject(compiler, ...flags, '--lib', 'es2023,esnext.disposable', ...types, 'use.ts')).resolves.toBe(
      '',
    )
  })

  it('npx runs the packed package by its name and by the name of its command', async () => {
    const version = /^Understudy \d+\.\d+\.\d+ \(reports v/
    expect(await inProject('npx', '--no', NAME, 'version')).toMatch(version)
    expect(await inProject('npx', '--no', 'understudy', 'version')).toMatch(version)
  })
})

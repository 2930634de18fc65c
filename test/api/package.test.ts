import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Installation } from '../support/installation.js'

/** The package as it would be published, used from another project. */

const ROOT = path.join(import.meta.dirname, '..', '..')
const NAME = 'understudy-lab'
const run = promisify(execFile)

let installed: Installation
let project: string
const inProject = async (program: string, ...args: string[]): Promise<string> =>
  (await run(program, args, { cwd: project, env: { ...process.env, ...installed.env } })).stdout

beforeAll(async () => {
  installed = await Installation.make()
  project = installed.directory
})

afterAll(() => installed[Symbol.asyncDispose]())

describe('the packed package', () => {
  it('the packed package has the name understudy-lab and the one command understudy', () => {
    const { name, bin } = JSON.parse(
      readFileSync(path.join(installed.packageDirectory, 'package.json'), 'utf8'),
    ) as Record<string, unknown>
    expect({ name, bin }).toEqual({ name: NAME, bin: { understudy: 'dist/bundle/main.cjs' } })
    expect(existsSync(path.join(installed.bin, 'understudy'))).toBe(true)
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
    // Node 20 does not support this declaration yet; compilers replace it with try and finally.
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

  it.each([['version'], ['server', '-dev', '-dev-listen-address=127.0.0.1:0']])(
    'the second process of the packed package reuses the code that the first one saved: %s',
    async (...args) => {
      const file = path.join(installed.packageDirectory, 'dist', 'bundle', 'cache')
      const program = path.join(installed.packageDirectory, 'dist', 'bundle', 'main.cjs')
      const savedAfterRun = async () => {
        const child = spawn(process.execPath, [program, ...args], {
          cwd: project,
          env: { ...process.env, ...installed.env },
        })
        child.stdout.on('data', (text: Buffer) => text.includes('server started') && child.kill())
        await once(child, 'close')
        return readdirSync(file).map((name) => [name, statSync(path.join(file, name)).ino])
      }
      const first = await savedAfterRun()
      expect(first).not.toEqual([])
      expect(await savedAfterRun()).toEqual(first)
    },
  )

  it('the packed package writes the build context of the image with every file that the Dockerfile copies', async () => {
    await inProject('npx', '--no', 'understudy', 'image', 'context', 'context')
    const dockerfile = readFileSync(path.join(project, 'context', 'Dockerfile'), 'utf8')
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(\S+)/gm)].map(([, name = '']) => name)
    expect(copied).toContain('dist')
    expect(copied.filter((name) => !existsSync(path.join(project, 'context', name)))).toEqual([])
    const used = [...dockerfile.matchAll(/\/opt\/understudy\/(dist\/\S+)/g)].map(([, name = '']) => name)
    expect(used).toContain('dist/cli/container/healthcheck.sh')
    expect(used.filter((name) => !existsSync(path.join(project, 'context', name)))).toEqual([])
  })

  it('the packed package contains the action for GitHub', () => {
    expect(existsSync(path.join(installed.packageDirectory, 'action.yml'))).toBe(true)
  })
})

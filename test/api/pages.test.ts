import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { LabHome } from '../support/lab-home.js'
import { blocksToRun, type Page, readPage, readPages, ROOT, toScript } from '../support/pages.js'

/**
 * Every command of the README and of the guides, run as it stands there: the blocks of a page one after the other in one
 * shell, in an empty directory, with a state directory of its own. Only the ports are others, because another lab may be up
 * on this machine. What does not run says so in a comment above it, with the reason.
 */

const PAGES = readPages()

/** A directory of a reader, in which the package is installed and its command is on the PATH. */
const makeDesk = (home: LabHome): { cwd: string; env: NodeJS.ProcessEnv } => {
  const cwd = path.join(home.directory, 'desk')
  const bin = path.join(home.directory, 'bin')
  for (const directory of [path.join(cwd, 'node_modules'), bin]) mkdirSync(directory, { recursive: true })
  symlinkSync(ROOT, path.join(cwd, 'node_modules', 'understudy-lab'))
  writeFileSync(path.join(cwd, 'package.json'), '{ "type": "module" }')
  const command = path.join(bin, 'understudy')
  const main = path.join(ROOT, 'dist', 'main.js')
  const randomPorts = 'if [ "$1" = up ]; then shift; set -- up --ports random "$@"; fi'
  writeFileSync(command, `#!/bin/sh\n${randomPorts}\nexec '${process.execPath}' '${main}' "$@"\n`)
  chmodSync(command, 0o755)
  const env = {
    PATH: `${bin}:${process.env.PATH}`,
    HOME: home.directory,
    XDG_STATE_HOME: home.directory,
    TMPDIR: '/tmp',
  }
  return { cwd, env }
}

const run = (program: string, args: readonly string[], at: { cwd: string; env: NodeJS.ProcessEnv }) =>
  new Promise<{ status: unknown; stdout: string; stderr: string }>((resolve) => {
    const child = execFile(program, args, at, (error, stdout, stderr) =>
      resolve({ status: error ? error.code : 0, stdout, stderr }),
    )
    child.stdin?.end()
  })

const having = (language: string): Page[] => PAGES.filter((page) => blocksToRun(page, language).length > 0)

describe('commands of a page', () => {
  it.each(having('sh').map((page) => [page.name, page] as const))('%s run as they stand there', async (_, page) => {
    await using home = new LabHome()
    const { status, stdout, stderr } = await run('bash', ['-c', toScript(page)], makeDesk(home))
    expect(status, `${stdout}\n${stderr}`).toBe(0)
    expect({ left: home.left(), processes: home.processes() }, 'what a page starts it ends').toEqual({
      left: [],
      processes: [],
    })
  })

  it('that fail are noticed, and so are those that end otherwise than the page says', async () => {
    await using home = new LabHome()
    const desk = makeDesk(home)
    const statusOf = async (line: string) =>
      (await run('bash', ['-c', toScript(readPage('x.md', `\`\`\`sh\n${line}\necho after\n\`\`\``))], desk)).status
    expect(await statusOf('understudy ls')).toBe(0)
    expect(await statusOf('understudy env A')).toBe(1)
    expect(await statusOf('understudy env A # ends with 1')).toBe(0)
    expect(await statusOf('understudy ls # ends with 1')).toBe(1)
  })
})

describe('programs of a page', () => {
  it.each(having('ts').map((page) => [page.name, page] as const))('%s run as they stand there', async (_, page) => {
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

describe('the pages', () => {
  it('name nothing as not run without a reason', () => {
    const blocks = PAGES.flatMap(({ name, blocks: all }) => all.map((block) => ({ name, ...block })))
    const unmarked = blocks.filter(({ language }) => !['', 'sh', 'ts', 'yaml', 'json', 'hcl'].includes(language))
    expect(unmarked).toEqual([])
    expect(blocks.filter(({ language, notRun }) => language === 'sh' && notRun === undefined).length).toBeGreaterThan(5)
    const markers = PAGES.flatMap(({ text }) => text.match(/<!-- not run from the page/g) ?? [])
    expect(blocks.filter(({ notRun }) => notRun !== undefined)).toHaveLength(markers.length)
  })

  it('link only to what is there', () => {
    const broken = PAGES.flatMap(({ name, text }) =>
      [...text.matchAll(/\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)/g)]
        .map(([, target = '']) => path.join(path.dirname(name), target))
        .filter((target) => !existsSync(path.join(ROOT, target)))
        .map((target) => `${name}: ${target}`),
    )
    expect(broken).toEqual([])
  })

  it('begin with a README that can be read at one sitting', () => {
    const readme = PAGES.find(({ name }) => name === 'README.md')
    expect(readme?.text.split('\n').length).toBeLessThan(150)
  })
})

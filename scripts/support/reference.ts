import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Command, Option } from 'commander'
import { parseDocument } from 'yaml'
import { makeProgram } from '../../src/cli/program.js'
import { ProcessOutput } from '../../src/cli/terminal/output.js'
import { COMMANDS } from '../../src/cli/vault/program/commands.js'
import type { Schema } from '../../src/lab/documents/schema.js'
import { RUNNERS, type Runner } from '../../src/lab/drills/drill-schema.js'
import { linkFaultsOf, runsOn } from '../../src/lab/drills/fitting.js'
import { topologyName } from '../../src/lab/topology/catalogue.js'
import { drillText, listDrillNames, listDrills } from '../../src/lab/drills/catalogue.js'
import { FACTS } from '../../src/lab/drills/expectations/facts.js'
import { LOAD_EXPECTATIONS } from '../../src/lab/drills/expectations/load-expectations.js'
import { describeStep, STEPS } from '../../src/lab/drills/steps/steps.js'
import { listServerFlags } from '../../src/server/config/flags.js'
import { ABSENT, type AbsentFamily, DOCUMENTED_TYPES, REFUSED } from './documented-paths.js'

/**
 * The pages that `npm run reference` writes, by their file in the repository. A unit test compares them with the files.
 */
export const referencePages = (): ReadonlyMap<string, string> =>
  new Map([
    ['docs/reference/commands.md', commandsPage()],
    ['docs/reference/drill-file.md', drillPage()],
    [COMPATIBILITY, compatibilityPage()],
  ])

const COMPATIBILITY = 'docs/reference/compatibility.md'

/** Returns the page with the tables of what the server does not serve. The rest of the page is not generated. */
const compatibilityPage = (): string => {
  const page = readFileSync(path.join(import.meta.dirname, '..', '..', COMPATIBILITY), 'utf8')
  const served = page.slice(0, page.indexOf('<!-- served: end -->'))
  const named = (families: readonly AbsentFamily[]) =>
    families.map(({ family, state, paths }) => [family, state, paths.map(code).join(' ')])
  const parts: Readonly<Record<string, readonly string[]>> = {
    absent: table(['family', 'state', 'paths'], named(ABSENT)),
    refused: table(['family', 'state', 'paths'], named(REFUSED)),
    types: table(
      ['kind', 'types'],
      (
        [
          ['auth methods', DOCUMENTED_TYPES.auth, 'auth/'],
          ['secrets engines', DOCUMENTED_TYPES.secret, ''],
        ] as const
      ).map(([kind, types, prefix]) => [
        kind,
        types
          .filter((type) => !served.includes(`\`${prefix}${type}/`))
          .map(code)
          .join(' '),
      ]),
    ),
  }
  return page.replaceAll(
    /(<!-- (\w+): generated -->\n)[\s\S]*?(<!-- \2: end -->)/g,
    (_, begin: string, name: string, end: string) => [begin, ...(parts[name] ?? []), end].join('\n'),
  )
}

const GENERATED = '<!-- `npm run reference` writes this page from the program. Do not edit it. -->'

/** One row of a table. A vertical bar in a cell is escaped. */
const row = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string[] =>
  rows.length === 0 ? [] : [row(head), `|${'---|'.repeat(head.length)}`, ...rows.map(row), '']

const pageOf = (lines: readonly string[]): string => `${lines.join('\n').trimEnd()}\n`

const code = (text: string): string => `\`${text}\``

const sentence = (text: string): string =>
  text === '' ? '' : `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`

const commandsPage = (): string => {
  const program = makeProgram(new ProcessOutput(() => 0), () => {})
  return pageOf([
    '# Commands',
    '',
    GENERATED,
    '',
    'This page is for operators and authors of scripts. It lists every command and flag of `understudy`.',
    '',
    ...table(['flag of every command', 'effect'], program.options.map(optionRow)),
    'See [Output and exit codes](exit-codes.md) for what commands print, and [Run a lab](../how-to/run-a-lab.md) for their use.',
    '',
    ...program.commands
      .filter((command) => !['server', 'vault'].includes(command.name()))
      .flatMap((command) => describeCommand(command, '')),
    '## `server`',
    '',
    'Run one server. Its flags have one or two dashes: `-flag=value` or `-flag value`. See [Settings](settings.md).',
    '',
    ...table(
      ['flag', 'effect'],
      listServerFlags().map(([flag, help]) => [code(flag), help]),
    ),
    '## `vault`',
    '',
    'A compatible client for any server. `understudy vault COMMAND -h` prints the flags of a command.',
    '',
    ...table(
      ['command', 'effect'],
      [...COMMANDS.values()].map(({ name, summary }) => [code(name), summary]),
    ),
  ])
}

const optionRow = (option: Option): readonly string[] => {
  const { defaultValue, defaultValueDescription: about = code(String(defaultValue)), envVar } = option
  const preset = defaultValue === undefined ? [] : [`default: ${about}`]
  const variable = envVar === undefined ? [] : [`environment: ${code(envVar)}`]
  return [code(option.flags), withNotes(option.description, [...valuesOf(option), ...preset, ...variable])]
}

const valuesOf = ({ argChoices }: { readonly argChoices?: readonly string[] }): string[] =>
  argChoices ? [`values: ${argChoices.map(code).join(', ')}`] : []

const withNotes = (text: string, notes: readonly string[]): string =>
  notes.length === 0 ? text : `${text} (${notes.join('; ')})`.trim()

/** Describes a command and its subcommands. */
const describeCommand = (command: Command, above: string): string[] => {
  const name = `${above}${command.name()}`
  const args = command.registeredArguments.map((argument) => {
    const dots = argument.variadic ? '...' : ''
    return argument.required ? `<${argument.name()}${dots}>` : `[${argument.name()}${dots}]`
  })
  const rows = [
    ...command.registeredArguments
      .filter(({ description, argChoices }) => description !== '' || argChoices)
      .map((argument, index) => [code(args[index] ?? ''), withNotes(argument.description, valuesOf(argument))]),
    ...command.options.filter(({ hidden }) => !hidden).map(optionRow),
  ]
  return [
    `${above === '' ? '##' : '###'} ${code([name, ...args].join(' '))}`,
    '',
    sentence(command.description()),
    '',
    ...table(['argument or flag', 'effect'], rows),
    ...command.commands.flatMap((below) => describeCommand(below, `${name} `)),
  ]
}

/** Examples for verbs and expectations that the bundled drills do not use. */
const MORE_EXAMPLES: Readonly<Record<string, string>> = {
  pause: 'pause: A',
  resume: 'resume: A',
  seal: 'seal: B',
  unseal: 'unseal: [A, B]',
  skew: 'skew: { cluster: B, by: 5m }',
  disk: 'disk: { cluster: A, state: slow, delay: 200ms }',
  run: 'run: { cluster: A, command: vault kv get kv/app, prints: hello }',
  writes: 'writes: { on: B, lost: 0 }',
}

/** The first use of each verb and expectation in the bundled drills, as YAML. */
const findExamples = (): ReadonlyMap<string, string> => {
  const examples = new Map(Object.entries(MORE_EXAMPLES))
  const keep = (entries: unknown): void => {
    if (!Array.isArray(entries)) return
    for (const entry of entries as Record<string, unknown>[])
      for (const [name, value] of Object.entries(entry)) {
        if (!examples.has(name)) examples.set(name, `${name}: ${inLine(value)}`)
        if (name === 'checkpoint') keep(value)
      }
  }
  for (const name of listDrillNames()) {
    const { setup, steps, expect } = parseDocument(drillText(name)).toJS() as Record<string, unknown>
    for (const entries of [setup, steps, expect]) keep(entries)
  }
  return examples
}

/** Formats a YAML value in one line. */
const inLine = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(inLine).join(', ')}]`
  if (value !== null && typeof value === 'object')
    return `{ ${Object.entries(value)
      .map(([key, inner]) => `${key}: ${inLine(inner)}`)
      .join(', ')} }`
  if (typeof value !== 'string') return String(value)
  return /^[\w./+-][\w ./+-]*$/.test(value) ? value : JSON.stringify(value)
}

const drillPage = (): string => {
  const examples = findExamples()
  const describe = ([name, { schema }]: readonly [string, { readonly schema: Schema }]): string[] => [
    `### ${code(name)}`,
    '',
    sentence(schema.description ?? ''),
    '',
    '```yaml',
    `- ${examples.get(name)}`,
    '```',
    '',
    ...table(
      ['field', 'value', 'effect'],
      Object.entries(schema.properties ?? {}).map(([field, inner]) => [
        code(field) + (schema.required?.includes(field) ? ' (required)' : ''),
        typeTextOf(inner),
        [
          sentence(inner.description ?? ''),
          inner.default === undefined ? '' : `Default: ${code(String(inner.default))}.`,
        ]
          .filter((text) => text !== '')
          .join(' '),
      ]),
    ),
  ]
  return pageOf([
    '# Drill file',
    '',
    GENERATED,
    '',
    'This page is for authors of drills. It lists every step and every expectation, with its fields and an example.',
    'See [Write a drill](../how-to/write-a-drill.md) for a whole file, and `understudy drill schema` for a JSON Schema.',
    '',
    '## Steps',
    '',
    ...Object.entries(STEPS).flatMap(describe),
    '## Expectations about clients',
    '',
    'The load measures these expectations. They are checked at the end of the drill.',
    '',
    ...Object.entries(LOAD_EXPECTATIONS).flatMap(describe),
    '## Expectations about clusters',
    '',
    'These expectations are checked at the end, or in a step `checkpoint`.',
    '',
    ...Object.entries(FACTS).flatMap(describe),
    '## Included drills',
    '',
    'This table lists the hosts on which each included drill runs. `runners` in its file declares them.',
    '',
    ...table(
      ['drill', 'topology', 'link faults', ...RUNNERS.map((runner) => HOSTS[runner]), 'simulated lab'],
      listDrills().map((drill) => [
        code(drill.name),
        code(topologyName(drill.topology)),
        linkFaultsOf(drill).map(describeStep).join(', ') || 'none',
        ...RUNNERS.map((runner) => (runsOn(drill, runner) ? 'yes' : 'no')),
        'no',
      ]),
    ),
    ...HOST_NOTES,
  ])
}

/** The columns of the table of drills. */
const HOSTS: Readonly<Record<Runner, string>> = {
  process: 'processes',
  'in-process': 'one process',
  docker: 'containers',
}

const HOST_NOTES = [
  '- Processes and one process: `drill run --on process` or `--on in-process`, and labs of `up`.',
  '- Containers: `drill run --on docker`. Link faults work there, because the links go through a lab daemon.',
  '- Simulated lab: drills run in real time, so a lab in virtual time plays none. Use its operations and links in a test.',
  '- Attached lab: a drill without `runners` runs with `--name` if its topology and roles fit. If it has link faults, the lab needs a lab daemon.',
]

/** Describes the type of a value in a few words. */
const typeTextOf = ({ title, enum: choices, type, items }: Schema): string => {
  if (choices) return choices.map(code).join(', ')
  if (title) return title
  if (type === 'array' && items) return `list; each element: ${typeTextOf(items)}`
  return type === undefined ? 'any value' : [type].flat().join(' or ').replace('object', 'map')
}

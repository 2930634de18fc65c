import { counted } from '../../../base/counted.js'
import { type Command, Option } from 'commander'
import { drillSchemaDocument, RUNNERS } from '../../../lab/drills/drill-schema.js'
import { drillText, listDrills, loadDrill } from '../../../lab/drills/catalogue.js'
import { describeStep, type Step } from '../../../lab/drills/steps/steps.js'
import { describeExpectation } from '../../../lab/drills/expectations/expectations.js'
import { type Drill, readDrillFile } from '../../../lab/drills/parse.js'
import { isDocumentFile } from '../../../lab/documents/yaml-document.js'
import { topologyName } from '../../../lab/topology/catalogue.js'
import { TypedCommand } from '../../terminal/command.js'
import { formatTable, type Output, textWidth } from '../../terminal/output.js'
import { findCommand } from './drill-find.js'

/** `understudy drill ...`: lists, validates and runs drills (scripted rehearsals), and writes their reports. */
export const drillCommand = (output: Output, finish: (status: number) => void): Command => {
  const command = new TypedCommand('drill').description('run drills and measure client impact')
  for (const make of [listCommand, showCommand, validateCommand, schemaCommand]) command.addCommand(make(output))
  return command
    .addCommand(runCommand(output, finish))
    .addCommand(findCommand(output, finish))
    .examples('drill list', 'drill run dr-failover --slo rto=60s,rpo=0 --report out/')
}

const runCommand = (output: Output, finish: (status: number) => void): Command =>
  new TypedCommand('run')
    .description('run a drill, and exit with 3 if an expectation is false')
    .argument('<drill>', 'name, or file that ends in .yaml')
    .flag('--slo <limits>', 'limits in addition to those of the drill, such as rto=60s,rpo=0 (lost writes)')
    .flag('--report <directory>', 'write report.json, junit.xml, report.html and SHA256SUMS to this directory')
    .choice('--on <runner>', 'run on a new lab of this kind (default: the current lab if it fits, or process)', RUNNERS)
    .flag('--name <lab>', 'run the drill on this running lab (default: see --on)')
    .flag('--seed <seed>', 'make identifiers, keys and faults reproducible; requires --on in-process')
    .flag('--keep', 'keep the new lab after the drill')
    .flag('--step', 'wait for Enter before each step')
    .add<{ readonly operator?: string }>(reportFlag('operator', 'name of the operator'))
    .add<{ readonly approver?: string }>(reportFlag('approver', 'name of the approver'))
    .add<{ readonly change?: string }>(reportFlag('change', 'number of the change'))
    .add<{ readonly environment?: string }>(reportFlag('environment', 'name of the environment'))
    .timeout()
    .json('print the result as JSON')
    .examples(
      'drill run dr-failover --slo rto=60s,rpo=0 --report out/',
      'drill run ./our-failover.yaml --on in-process --json',
    )
    .run(async (flags, name: string) => {
      // Imported only here, because it loads the whole server for in-process labs.
      const { runDrillCommand } = await import('./drill-run.js')
      finish(await runDrillCommand(name, flags, output))
    })

/** Returns a flag for a text in the report of a drill. An environment variable can set the text instead. */
const reportFlag = (name: string, what: string): Option =>
  new Option(`--${name} <text>`, `${what} in the report`).env(`UNDERSTUDY_${name.toUpperCase()}`)

const listCommand = (output: Output): Command =>
  new TypedCommand('list')
    .description('list the included drills')
    .json()
    .examples('drill list', 'drill list --json')
    .run((flags) => {
      const drills = listDrills()
      if (flags.json) {
        const shown = drills.map(({ name, topology, purpose, duration, runners }) => ({
          name,
          topology: topologyName(topology),
          purpose,
          duration,
          runners,
        }))
        output.data(JSON.stringify(shown, undefined, 2))
      } else if (drills.length === 0) output.progress('this package includes no drills')
      else {
        const rows = drills.map(({ name, topology, purpose }) => [
          ...[name, isDocumentFile(topology) ? `${topologyName(topology)} (own file)` : topology],
          firstSentence(purpose),
        ])
        output.data(formatTable(rows, textWidth()))
      }
    })

const showCommand = (output: Output): Command =>
  new TypedCommand('show')
    .description('show the steps and expectations of a drill')
    .argument('<drill>', 'name, or file that ends in .yaml')
    .flag('--yaml', 'print the drill file, which can be a template for your own drill')
    .examples('drill show dr-failover', 'drill show dr-failover --yaml > our-failover.yaml')
    .run((flags, name: string) => {
      const drill = loadDrill(name)
      output.data(flags.yaml ? drillText(name).trimEnd() : describeDrill(drill))
    })

const validateCommand = (output: Output): Command =>
  new TypedCommand('validate')
    .description('validate a drill file')
    .argument('<file>', 'drill file (YAML)')
    .examples('drill validate our-failover.yaml', 'drill validate drills/quarterly.yaml')
    .run((_flags, file: string) => {
      const { name, steps, expect } = readDrillFile(file)
      const size = `${counted(steps.length, 'step')}, ${counted(expect.length, 'expectation')}`
      output.data(`${file}: the drill ${name}, ${size}`)
    })

const schemaCommand = (output: Output): Command =>
  new TypedCommand('schema')
    .description('print the JSON Schema of drill files for editors')
    .examples('drill schema > drill.schema.json', 'drill schema | less')
    .run(() => output.data(JSON.stringify(drillSchemaDocument(), undefined, 2)))

const firstSentence = (text: string): string => text.split(/(?<=\.)\s/)[0] ?? text

const describeDrill = (drill: Drill): string => {
  const { name, purpose, duration, symptom, fix, topology, load, setup, steps, expect } = drill
  const part = (title: string, lines: readonly string[]) => (lines.length > 0 ? ['', title, ...lines] : [])
  const numbered = (list: readonly Step[]) => list.map((step, index) => `  ${index + 1}. ${describeNamed(step)}`)
  const clients = load && [
    `  ${counted(load.writers, 'writer')}, ${counted(load.logins, 'login client')}, ${counted(load.readers, 'reader')}, ${counted(load.tokens, 'token')}`,
  ]
  return [
    `${name} (${topologyName(topology)}${duration && `, about ${duration}`})`,
    ...(purpose ? [purpose.trim()] : []),
    ...part('Symptom', symptom ? [`  ${symptom.trim()}`] : []),
    ...part('Fix', fix ? [`  ${fix.trim()}`] : []),
    ...part('Setup', numbered(setup)),
    ...part('Clients', clients ?? []),
    ...part('Steps', numbered(steps)),
    ...part(
      'Expected',
      expect.map((one) => `  - ${describeExpectation(one)}`),
    ),
  ].join('\n')
}

const describeNamed = (step: Step): string =>
  step.name === undefined ? describeStep(step) : `${step.name}: ${describeStep(step)}`

import { hash } from 'node:crypto'
import path from 'node:path'
import { replaceFile } from '../../base/replace-file.js'
import { makeDirectory } from '../../base/make-directory.js'
import { messageOf } from '../../base/printable.js'
import type { DrillResult } from '../drills/context/result.js'
import { LabError } from '../model/lab-error.js'
import { conceal } from '../texts/conceal.js'
import { toHtml } from './html.js'
import { type Markup, markup } from './markup.js'

/** Renders JUnit XML for CI: a suite with one test case per step and per expectation. */
export const toJunit = (result: DrillResult): string => {
  const { drill, steps, expectations, startedAt, durationMs, error } = result
  const count = (outcome: string) => steps.filter((step) => step.outcome === outcome).length
  const failures = count('failed') + expectations.filter(({ passed }) => !passed).length
  const isBroken = error !== null
  const tests = steps.length + expectations.length + (isBroken ? 1 : 0)
  const totals = markup`tests="${tests}" failures="${failures}" errors="${isBroken ? 1 : 0}" skipped="${count('skipped')}" time="${seconds(durationMs)}"`
  const body = markup`<testsuites name="understudy drills" ${totals}>
  <testsuite name="${drill}" ${totals} timestamp="${startedAt.replace(/(\.\d+)?Z$/, '')}">
    <properties>
${propertiesOf(result).map(([name, value]) => markup`      <property name="${name}" value="${value}"/>\n`)}    </properties>
${steps.map((step, index) => {
  const name = `step ${index + 1}: ${step.name}`
  const why = step.error ?? 'the step failed'
  return testCase(drill, name, step.tookMs, [
    step.outcome === 'skipped' && markup`<skipped message="an earlier step failed"/>`,
    step.outcome === 'failed' && markup`<failure message="${why}">${why}</failure>`,
    step.commands.length > 0 &&
      markup`<system-out>${[...step.commands, ...(step.output === undefined ? [] : [step.output])].join('\n')}</system-out>`,
  ])
})}${expectations.map(({ text, passed, evidence }) =>
  testCase(drill, `expects ${text}`, 0, [
    !passed && markup`<failure message="${evidence[0] ?? text}">${evidence.join('\n')}</failure>`,
    passed && evidence.length > 0 && markup`<system-out>${evidence.join('\n')}</system-out>`,
  ]),
)}${isBroken && testCase(drill, 'runs to its end', 0, [markup`<error message="${error}"/>`])}  </testsuite>
</testsuites>`
  return `<?xml version="1.0" encoding="UTF-8"?>\n${body.text}\n`
}

const testCase = (drill: string, name: string, tookMs: number, parts: readonly (Markup | false)[]): Markup =>
  markup`    <testcase classname="understudy.drill.${drill}" name="${name}" time="${seconds(tookMs)}">${parts}</testcase>\n`

const propertiesOf = ({ topology, runner, seed, versions, rto, rpo, tokens, audit }: DrillResult) =>
  Object.entries({
    topology,
    runner,
    ...(seed !== '' && { seed }),
    understudy: versions.understudy,
    ...audit,
    ...(rto && { 'rto-ms': rto.ms === null ? 'no recovery' : rto.ms.toFixed(0) }),
    ...(rpo && { 'rpo-writes-lost': String(rpo.writesLost) }),
    ...(tokens && { tokens: `${tokens.survived}/${tokens.total}` }),
  })

const seconds = (ms: number): string => (ms / 1000).toFixed(3)

/** The files of a report, with the functions that render them. */
const FILES: Readonly<Record<string, (result: DrillResult) => string>> = {
  'report.json': (result) => `${JSON.stringify(result, undefined, 2)}\n`,
  'junit.xml': toJunit,
  'report.html': toHtml,
}

/**
 * Writes the result of a drill into a directory, as JSON, JUnit XML and HTML, with the SHA-256 hashes of these files in
 * the format of `sha256sum`. Replaces tokens and key shares by placeholders. Returns the files. Throws LabError `usage`
 * if a file cannot be written.
 */
export const writeReport = (directory: string, result: DrillResult): readonly string[] => {
  const concealed = conceal(result)
  const reports = Object.entries(FILES).map(([name, make]) => ({ name, text: make(concealed) }))
  const sums = reports.map(({ name, text }) => `${hash('sha256', text)}  ${name}\n`).join('')
  const files = [...reports, { name: 'SHA256SUMS', text: sums }].map(({ name, text }) => ({
    file: path.join(directory, name),
    text,
  }))
  prepareReport(directory)
  for (const { file, text } of files) {
    try {
      replaceFile(file, text, 0o666)
    } catch (error) {
      throw new LabError('usage', `cannot write ${file}: ${messageOf(error)}`, { cause: error })
    }
  }
  return files.map(({ file }) => file)
}

/**
 * Creates the directory before the drill starts, so that an unwritable directory is detected early. Throws LabError
 * `usage` if it cannot be created.
 */
export const prepareReport = (directory: string): void => {
  try {
    makeDirectory(directory)
  } catch (error) {
    throw new LabError('usage', `cannot create ${directory}: ${messageOf(error)}`, { cause: error })
  }
}

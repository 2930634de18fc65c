import { largestOf } from '../../base/extremes.js'
import { quoteForShell } from '../../base/shell.js'
import { EXTERNAL, SHARE, type WrittenRunbook, type WrittenStep } from './written-runbook.js'

/** Renders a written runbook as Markdown to read, and as a shell script to run. */

/** Maximum number of attempts of a repeated check, one second apart. */
const TRIES = 300

const codeBlock = (command: string, indent = ''): string => {
  const fence = fenceFor(command, 3)
  return [`${fence}sh`, command, fence].map((line) => `${indent}${line}`).join('\n')
}

/** Returns more backticks than the text has in a row, and at least `least`, so that the text cannot end its code. */
const fenceFor = (text: string, least: number): string => {
  const runs = text.match(/`+/g) ?? []
  return '`'.repeat(
    largestOf(
      runs.map((run) => run.length + 1),
      least,
    ),
  )
}

const tableOf = (heads: readonly string[], rows: readonly (readonly string[])[]): string =>
  [heads, heads.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n')

const code = (text: string): string => {
  if (text === '') return ''
  const fence = fenceFor(text, 1)
  // Next to a backtick, the fence needs a space, which Markdown does not show.
  return text.includes('`') ? `${fence} ${text} ${fence}` : `${fence}${text}${fence}`
}

/** Renders a Markdown page with the clusters, the values and the numbered steps. */
export const toMarkdown = ({ title, clusters, values, steps, after }: WrittenRunbook): string =>
  [
    `# ${title}`,
    'This runbook contains no secrets. Run the commands in one POSIX shell, in order. If a step fails, stop.',
    '## Clusters',
    tableOf(
      ['cluster', 'API address', 'cluster address', 'CA file', 'namespace'],
      clusters.map(({ name, apiAddress, clusterAddress, caFile, namespace }) => [
        name,
        code(apiAddress),
        code(clusterAddress),
        code(caFile),
        code(namespace) || 'root',
      ]),
    ),
    '## Values',
    'Set these shell variables, for example with `read -rs NAME`. Steps set all other variables.',
    tableOf(
      ['variable', 'value'],
      values.map(({ name, about }) => [code(name), about]),
    ),
    '## Steps',
    ...steps.flatMap((step) => [`### ${step.number}. ${step.title}`, codeBlock(step.command), notesOf(step)]),
    '## Afterwards',
    after.map((text) => `- ${text}`).join('\n'),
  ].join('\n\n')

const notesOf = ({ onlyIf, needs, expect, isRepeated, makes, back, backCommand }: WrittenStep): string =>
  [
    ...(onlyIf
      ? [`- Only if this command prints ${code(onlyIf.answer)}:\n\n${codeBlock(onlyIf.command, '  ')}\n`]
      : []),
    ...(needs.length > 0 ? [`- Needs: ${needs.map(({ name, from }) => `${code(name)} (${from})`).join(', ')}`] : []),
    ...(makes.length > 0 ? [`- Sets: ${makes.map(code).join(', ')}`] : []),
    `- Expected: ${expect}${isRepeated ? ` Repeat the command until then, for at most ${TRIES / 60} minutes.` : ''}`,
    ...(back === undefined ? [] : [`- To go back: ${back}`]),
    ...(backCommand === undefined ? [] : [`\n${codeBlock(backCommand, '  ')}`]),
  ].join('\n')

const FUNCTIONS = `# ask PROMPT VARIABLE: reads a secret into a variable, without echo.
ask() {
  printf '%s: ' "$1" >&2
  stty -echo 2> /dev/null || :
  IFS= read -r "$2"
  stty echo 2> /dev/null || :
  echo >&2
}
trap 'stty echo 2> /dev/null || :' EXIT

# check ATTEMPTS COMMAND ANSWER: runs the command once per second, until it prints the answer.
check() {
  attempts=$1
  until [ "$(eval "$2")" = "$3" ]; do
    attempts=$((attempts - 1))
    if [ "$attempts" -le 0 ]; then
      echo "stopped: the expected output is: $3" >&2
      exit 1
    fi
    sleep 1
  done
}`

/** Renders a shell script. It asks for key shares, and stops at the first step that fails. */
export const toScript = ({ title, values, steps, after }: WrittenRunbook): string => {
  const used = new Set(steps.flatMap(({ needs }) => needs.map(({ name }) => name)))
  const given = values.filter(({ name }) => used.has(name) && name !== SHARE)
  return [
    '#!/bin/sh',
    `# ${title}. This script contains no secrets.`,
    'set -eu',
    '',
    FUNCTIONS,
    '',
    ...given.map(({ name, about }) => `: "\${${name}:?is ${about}}"`),
    ...steps.flatMap((step) => ['', ...scriptLinesOf(step)]),
    '',
    ...after.map((text) => `echo ${quoteForShell(text)} >&2`),
  ].join('\n')
}

const scriptLinesOf = (step: WrittenStep): readonly string[] => {
  const { number, title, command, answer, isRepeated, onlyIf, needs } = step
  const shown = quoteForShell(`${number}. ${title}`)
  const run =
    answer === undefined
      ? command
      : `check ${isRepeated ? TRIES : 1} ${quoteForShell(command)} ${quoteForShell(answer)}`
  return [
    `echo ${shown} >&2`,
    ...needs.flatMap(({ name, from }) => {
      if (name === SHARE) return [`ask ${shown} ${SHARE}`]
      return from === EXTERNAL ? [] : [`: "\${${name}:?is empty: ${from} sets it}"`]
    }),
    ...(onlyIf ? [`if [ "$(${onlyIf.command})" = ${quoteForShell(onlyIf.answer)} ]; then`, `  ${run}`, 'fi'] : [run]),
  ]
}

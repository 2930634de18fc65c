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
    'This runbook contains no secrets. Run the commands in one POSIX shell, in order. If a step fails, stop. If a token generation is in progress then, cancel it with the command of its step.',
    'The command `vault` can be a shell function or a script, for example one that runs `understudy vault "$@"`.',
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
    'Set these shell variables without echo: `stty -echo; IFS= read -r NAME; stty echo`. Steps set all other variables.',
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
  IFS= read -r "$2" || stop 'there is no input'
  stty echo 2> /dev/null || :
  echo >&2
}

# stop REASON: ends the script.
stop() {
  echo "stopped: $1" >&2
  exit 1
}

# finish: cancels the token generation that this script started and did not complete.
finish() {
  status=$?
  stty echo 2> /dev/null || :
  if [ -n "$cancel" ]; then
    echo "canceling the generation: $cancel" >&2
    eval "$cancel" >&2 || echo 'the generation is not canceled: repeat this command' >&2
  fi
  exit "$status"
}
cancel=''
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# check ATTEMPTS COMMAND ANSWER: runs the command once per second, until it prints the answer.
check() {
  attempts=$1
  until output="$(eval "$2")" && [ "$output" = "$3" ]; do
    attempts=$((attempts - 1))
    [ "$attempts" -gt 0 ] || stop "the expected output is: $3, but the output is: $output"
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
  const { number, title, command, answer, isRepeated, onlyIf, needs, makes, backCommand = '' } = step
  const shown = quoteForShell(`${number}. ${title}`)
  const run =
    answer === undefined
      ? `${command} || stop ${quoteForShell(`step ${number} failed. ${hintOf(step)}`.trim())}`
      : `check ${isRepeated ? TRIES : 1} ${quoteForShell(command)} ${quoteForShell(answer)}`
  const names = needs.map(({ name }) => name)
  return [
    names.includes(SHARE) ? `ask ${shown} ${SHARE}` : `echo ${shown} >&2`,
    ...needs.flatMap(({ name, from }) =>
      name === SHARE || from === EXTERNAL ? [] : [`[ -n "\${${name}:-}" ] || stop '${name} is empty: ${from} sets it'`],
    ),
    ...(names.includes('ENCODED_TOKEN') ? ["cancel=''"] : []),
    ...(onlyIf ? [`if [ "$(${onlyIf.command})" = ${quoteForShell(onlyIf.answer)} ]; then`, `  ${run}`, 'fi'] : [run]),
    ...(makes.includes('NONCE') ? [`cancel=${quoteForShell(backCommand)}`] : []),
  ]
}

/** Returns how to go back if the step that starts a token generation fails. Empty for other steps. */
const hintOf = ({ makes, back = '', backCommand = '' }: WrittenStep): string =>
  makes.includes('NONCE') ? `${back} ${backCommand}` : ''

import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** A fenced code block of a page. */
export interface Block {
  /** The line number of its first line, from 1. */
  readonly line: number
  readonly language: string
  readonly text: string
  /** Why tests do not run the block; undefined for blocks that they run. */
  readonly notRun: string | undefined
}

export interface Page {
  /** Path relative to the root of the project. */
  readonly name: string
  readonly text: string
  readonly blocks: readonly Block[]
}

export const ROOT = path.join(import.meta.dirname, '..', '..')

const BLOCK = /(?:^<!-- not run from the page: (?<reason>[^\n]+?) -->\n)?^```(?<language>\w*)\n(?<text>.*?)^```$/gms

/** Returns the README and all guides. */
export const readPages = (): Page[] =>
  [
    'README.md',
    ...readdirSync(path.join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`),
  ]
    .filter((name) => name.endsWith('.md') && !/node_modules|\.vitepress/.test(name))
    .map((name) => readPage(name, readFileSync(path.join(ROOT, name), 'utf8')))

export const readPage = (name: string, text: string): Page => ({
  name,
  text,
  blocks: [...text.matchAll(BLOCK)].map(({ index, groups }) => ({
    line: text.slice(0, index).split('\n').length + (groups?.reason === undefined ? 1 : 2),
    language: groups?.language ?? '',
    text: groups?.text ?? '',
    notRun: groups?.reason,
  })),
})

/** Returns the blocks of a page that tests run, in order. */
export const blocksToRun = ({ blocks }: Page, language: string): readonly Block[] =>
  blocks.filter((block) => block.language === language && block.notRun === undefined)

/** Where the commands run: in a terminal, or in a CI job without a terminal. */
export type Reader = 'terminal' | 'job'

/**
 * Returns the commands of a page as one bash script. It ends at the first command that fails, unless the comment of the
 * command names another exit status: "exits with 2", "exits with 0 or 3". A command with the comment "q quits" is typed
 * in a terminal by the test; without a terminal, it is interrupted after its first output.
 */
export const toScript = (page: Page, reader: Reader = 'job'): string =>
  [
    'set -eu -o pipefail',
    ...(reader === 'terminal' ? ['stty rows 40 columns 132'] : []),
    ...blocksToRun(page, 'sh').flatMap(({ line, text }) => [
      `echo "=== ${page.name}, line ${line}" >&2`,
      ...text.split('\n').map((command) => toCommand(command, reader)),
    ]),
  ].join('\n')

const toCommand = (line: string, reader: Reader): string => {
  const command = line.replace(/\s+#.*$/, '')
  if (/#.*\bq quits/.test(line)) return reader === 'terminal' ? command : untilPrinted(command)
  const [, first, second = first] = /#.*\bexits with (\d+)(?:,? or (\d+))?/.exec(line) ?? []
  if (first === undefined) return line
  return [
    `was=0; ${command} || was=$?`,
    `[ "$was" = ${first} ] || [ "$was" = ${second} ] || { echo "it ended with $was, not with ${first}" >&2; exit 1; }`,
  ].join('; ')
}

const untilPrinted = (command: string): string =>
  [
    `${command} > printed.txt & until [ -s printed.txt ] || ! kill -0 $!; do sleep 0.1; done`,
    'kill -INT $!; wait $!; cat printed.txt; rm printed.txt',
  ].join('; ')

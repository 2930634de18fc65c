import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** One fenced block of a page. */
export interface Block {
  /** Where its first line stands, from 1. */
  readonly line: number
  readonly language: string
  readonly text: string
  /** Why a test does not run it from the page; undefined for those that it runs. */
  readonly notRun: string | undefined
}

export interface Page {
  /** As seen from the root of the project. */
  readonly name: string
  readonly text: string
  readonly blocks: readonly Block[]
}

export const ROOT = path.join(import.meta.dirname, '..', '..')

const BLOCK = /(?:^<!-- not run from the page: (?<reason>[^\n]+?) -->\n)?^```(?<language>\w*)\n(?<text>.*?)^```$/gms

/** The README and every guide, with their blocks. */
export const readPages = (): Page[] =>
  ['README.md', ...readdirSync(path.join(ROOT, 'docs')).map((name) => `docs/${name}`)]
    .filter((name) => name.endsWith('.md'))
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

/** Blocks of a page that run, in the order in which they stand there. */
export const blocksToRun = ({ blocks }: Page, language: string): readonly Block[] =>
  blocks.filter((block) => block.language === language && block.notRun === undefined)

/**
 * The commands of a page as one script for bash. It ends at the first line that fails, but for one whose comment says
 * "ends with 2": that one has to end with 2.
 */
export const toScript = (page: Page): string =>
  [
    'set -eu -o pipefail',
    ...blocksToRun(page, 'sh').flatMap(({ line, text }) => [
      `echo "=== ${page.name}, line ${line}" >&2`,
      ...text.split('\n').map(expectStatus),
    ]),
  ].join('\n')

const expectStatus = (line: string): string => {
  const [, status] = /#.*\bends with (\d+)/.exec(line) ?? []
  if (status === undefined) return line
  const command = line.replace(/\s+#.*$/, '')
  return `was=0; ${command} || was=$?; [ "$was" = ${status} ] || { echo "it ended with $was, not with ${status}" >&2; exit 1; }`
}

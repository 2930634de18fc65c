/** Indents HCL without changing what it says: comments, texts and the order of lines stay. */
import { parseHcl } from '../../base/hcl.js'

const INDENT = '  '
/** A quoted text, a comment to the end of the line, or one bracket. */
const PIECE = /"(?:[^"\\]|\\.)*"|#.*|\/\/.*|[{}[\]]/g

/** Throws `HclError` when the text is no HCL. JSON, heredocs and block comments are left as they are. */
export const formatHclText = (text: string, file: string): string => {
  parseHcl(text, { file })
  if (/^\uFEFF?\s*[{[]/.test(text) || /<<|\/\*/.test(text)) return text
  let depth = 0
  const lines = text.split('\n').map((raw) => {
    const line = raw.trim()
    const brackets = (line.match(PIECE) ?? []).filter((piece) => /^[{}[\]]$/.test(piece))
    const closedFirst = (/^[}\]]+/.exec(line)?.[0] ?? '').length
    const indent = Math.max(0, depth - closedFirst)
    for (const bracket of brackets) depth += '{['.includes(bracket) ? 1 : -1
    return line === '' ? '' : INDENT.repeat(indent) + spaceAssignment(line)
  })
  return `${lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()}\n`
}

/** One blank on each side of the first equal sign that follows a key. */
const spaceAssignment = (line: string): string => line.replace(/^("(?:[^"\\]|\\.)*"|[\w.-]+)\s*=\s*/, '$1 = ')

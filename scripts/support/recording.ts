/** A printed line, and its time in milliseconds since the first line. */
export interface PrintedLine {
  readonly text: string
  readonly atMs: number
}

const COLUMNS = 112
const CHARACTER_PX = 7.25
const LINE_PX = 17
const MARGIN_PX = 16

/** The style of each kind of line: an equivalent command, its result, a step, or evidence. */
const CLASSES: readonly (readonly [RegExp, string])[] = [
  [/^\$ /, 'typed'],
  [/^ +\$ /, 'call'],
  [/^ *✓|^RTO/, 'good'],
  [/^\[/, 'step'],
]

const escapeXml = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')

const cut = (text: string): string => (text.length > COLUMNS ? `${text.slice(0, COLUMNS - 1)}…` : text)

const drawLine = ({ text, atMs }: PrintedLine, at: number): string => {
  const [, name = 'plain'] = CLASSES.find(([pattern]) => pattern.test(text)) ?? []
  const y = MARGIN_PX + LINE_PX * at + 12
  return `<text class="${name}" y="${y}" style="animation-duration:${(atMs / 1000).toFixed(2)}s">${escapeXml(cut(text))}</text>`
}

/**
 * Draws the output of a terminal as an SVG in which each line is dimmed until its time. Viewers without animation, and
 * users who prefer reduced motion, see all lines in full color at once.
 */
export const drawRecording = (title: string, lines: readonly PrintedLine[]): string => {
  const width = Math.ceil(COLUMNS * CHARACTER_PX + 2 * MARGIN_PX)
  const height = lines.length * LINE_PX + 2 * MARGIN_PX
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeXml(title)}">
<style>
  text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; fill: #d0d7de; animation: dimmed 0s }
  .typed { fill: #ffffff; font-weight: 600 } .step { fill: #79c0ff } .call { fill: #8b949e } .good { fill: #56d364 }
  @keyframes dimmed { from, to { opacity: 0.35 } }
  @media (prefers-reduced-motion: reduce) { text { animation: none } }
</style>
<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>
<g transform="translate(${MARGIN_PX} 0)" xml:space="preserve">
${lines.map(drawLine).join('\n')}
</g>
</svg>
`
}

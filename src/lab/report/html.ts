import { hash } from 'node:crypto'
import type { DrillEvent, DrillResult, Picture, StepResult } from '../drills/context/result.js'
import { renderFigure } from './chart.js'
import { lagFigure, requestFigure, timelineFigure } from './curves.js'
import { drawFigures, drawInterruptions, drawLosses, drawRepeat } from './facts.js'
import { formatDay, formatMs, formatOffset } from '../texts/format.js'
import { drawCommands, drawTable, type Markup, markup, section } from './markup.js'
import { STYLE } from './style.js'
import { topologyFigure } from './topology.js'

const VERDICTS = { passed: 'Passed', failed: 'Failed', error: 'Not completed' } as const

/** Renders a self-contained page without external resources or scripts, which can be archived, printed and mailed. */
export const toHtml = (result: DrillResult): string => {
  const policy = `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; base-uri 'none'; form-action 'none'`
  return `<!doctype html>\n<html lang="en">\n<head>\n${drawHead(result, policy).text}\n<style>${STYLE}</style>\n</head>\n${drawBody(result).text}\n</html>\n`
}

const drawHead = ({ drill, verdict, startedAt }: DrillResult, policy: string): Markup => markup`<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${drill}: ${VERDICTS[verdict].toLowerCase()}, ${formatDay(startedAt)}</title>`

const drawBody = (result: DrillResult): Markup => markup`<body>
<main>
<header>
<p class="kicker">Drill report</p>
<h1>${result.drill}</h1>
<p class="purpose">${result.purpose}</p>
<p class="meta">${formatDay(result.startedAt)} · took ${formatMs(result.durationMs)} · topology ${result.topology} · ${RUNNERS[result.runner]}</p>
<p class="verdict ${result.verdict}">${VERDICTS[result.verdict]}</p>
${result.error !== null && markup`<p class="purpose bad-text">${result.error}</p>`}
</header>
${drawFigures(result)}
${drawExpectations(result)}
${drawTopology(result)}
${section('What happened', renderFigure(timelineFigure(result)), ...drawCurves(result), drawInterruptions(result), drawEvents(result))}
${section('Steps and their calls', drawSteps(result))}
${drawCalls(result)}
${drawLosses(result)}
${drawBackground(result)}
${drawRepeat(result)}
<footer>Measured on a simulator: it shows whether a runbook holds, not how fast a production cluster is.</footer>
</main>
</body>`

const RUNNERS = {
  process: 'servers as processes',
  'in-process': 'servers in one process',
  docker: 'servers in containers',
  attached: 'existing servers',
} as const

const drawExpectations = ({ expectations }: DrillResult): Markup => {
  const failed = expectations.filter(({ passed }) => !passed).length
  const about =
    failed === 0
      ? `${expectations.length} of ${expectations.length} hold`
      : `${failed} of ${expectations.length} do not hold`
  return section(
    'Expectations',
    markup`<p class="note">${about}</p><ul class="checks">${expectations.map(
      ({ text, passed, evidence }) =>
        markup`<li><b class="${passed ? 'good-text' : 'bad-text'}">${passed ? '✓ holds' : '✗ fails'}</b><span>${text}</span>${evidence.length > 0 && markup`<ul>${evidence.map((line) => markup`<li>${line}</li>`)}</ul>`}</li>`,
    )}</ul>`,
  )
}

const drawTopology = ({ before, after }: DrillResult): Markup | undefined => {
  if (!before && !after) return undefined
  const draw = (title: string, picture: Picture | null) => picture && renderFigure(topologyFigure(title, picture))
  return section(
    'Topology',
    markup`<div class="pair">${draw('Before', before) ?? undefined}${draw('After', after) ?? undefined}</div>`,
  )
}

const drawCurves = (result: DrillResult): Markup[] =>
  [requestFigure(result), lagFigure(result)].filter((figure) => figure !== undefined).map(renderFigure)

/** Excludes steps, which have their own section. */
const drawEvents = ({ events: all }: DrillResult): Markup | undefined => {
  const events = all.filter(({ kind }) => kind !== 'drill')
  if (events.length === 0) return undefined
  const rows = events.map((event) => [
    formatOffset(event.atMs),
    event.cluster ?? '',
    event.kind,
    event.command ?? describeDetails(event),
  ])
  return markup`<figure><h3>Events</h3>${drawTable(['time', 'cluster', 'event', 'details'], rows)}</figure>`
}

/** Returns, for example, `from sealed, to unsealed`. */
const describeDetails = ({ details }: DrillEvent): string =>
  Object.entries(details)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')

const OUTCOMES = { passed: '', failed: 'failed after ', skipped: 'not reached' } as const

const drawSteps = ({ steps }: DrillResult): Markup =>
  markup`<ol class="steps">${steps.map(
    (step) =>
      markup`<li><h3>${step.name}<span class="${step.outcome === 'failed' ? 'bad-text' : ''}">${describeTime(step)}</span></h3><p class="note">${step.detail}</p>${step.error !== undefined && markup`<p class="bad-text">${step.error}</p>`}${drawCommands(step.commands)}${step.output !== undefined && markup`<pre>${step.output}</pre>`}</li>`,
  )}</ol>`

const describeTime = ({ outcome, startedMs, tookMs }: StepResult): string =>
  outcome === 'skipped' ? OUTCOMES.skipped : `${OUTCOMES[outcome]}${formatMs(tookMs)} at ${formatOffset(startedMs)}`

const drawCalls = ({ calls }: DrillResult): Markup | undefined => {
  if (calls.length === 0) return undefined
  const rows = calls.map(({ atMs, cluster, method, path, status, tookMs }) => [
    formatOffset(atMs),
    cluster,
    `${method} ${path}`,
    status === null ? 'no answer' : String(status),
    formatMs(tookMs),
  ])
  return section('Calls made', drawTable(['time', 'cluster', 'request', 'status', 'took'], rows))
}

const drawBackground = ({ symptom, fix }: DrillResult): Markup | undefined => {
  if (symptom === null && fix === null) return undefined
  return section(
    'In production',
    markup`<dl class="facts">${symptom !== null && markup`<dt>what one sees</dt><dd>${symptom}</dd>`}${fix !== null && markup`<dt>what mends it</dt><dd>${fix}</dd>`}</dl>`,
  )
}

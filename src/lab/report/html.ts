import { hash } from 'node:crypto'
import type { DrillEvent, DrillResult, StepResult } from '../drills/context/result.js'
import { describeRestored } from '../requests/losses.js'
import { formatTime, formatMs, formatNumber, formatOffset } from '../texts/format.js'
import { lagFigure, requestFigure, timelineFigure } from './curves.js'
import { drawCommands, drawFacts, drawTable, type Markup, markup, section, titled } from './markup.js'
import { STYLE } from './style.js'
import { topologyFigure } from './topology.js'

const VERDICTS = { passed: 'Passed', failed: 'Failed', error: 'Not completed' } as const

/** Renders a page without scripts and external resources, so that the file can be archived, printed and mailed. */
export const toHtml = (result: DrillResult): string => {
  const policy = `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; base-uri 'none'; form-action 'none'`
  return `<!doctype html>\n<html lang="en">\n<head>\n${drawHead(result, policy).text}\n<style>${STYLE}</style>\n</head>\n${drawBody(result).text}\n</html>\n`
}

const drawHead = ({ drill, verdict, startedAt }: DrillResult, policy: string): Markup => markup`<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${drill}: ${VERDICTS[verdict].toLowerCase()}, ${formatTime(startedAt)}</title>`

const drawBody = (result: DrillResult): Markup => markup`<body>
<main>
<header>
<p class="kicker">Drill report</p>
<h1>${result.drill}</h1>
<p class="purpose">${result.purpose}</p>
<p class="meta">${formatTime(result.startedAt)} &middot; took ${formatMs(result.durationMs)} &middot; topology ${result.topology} &middot; ${RUNNERS[result.runner]}</p>
<p class="verdict ${result.verdict}">${VERDICTS[result.verdict]}</p>
${result.error !== null && markup`<p class="purpose bad-text">${result.error}</p>`}
</header>
${drawFigures(result)}
${drawExpectations(result)}
${drawTopology(result)}
${section('Timeline', timelineFigure(result), requestFigure(result), lagFigure(result), drawInterruptions(result), drawEvents(result))}
${section('Steps', drawSteps(result))}
${drawCalls(result)}
${drawLosses(result)}
${drawBackground(result)}
${drawAudit(result)}
${drawRepeat(result)}
<footer>Measured on a simulator: the results test a runbook. They do not predict the speed of a production cluster.</footer>
</main>
</body>`

const RUNNERS = {
  process: 'servers as processes',
  'in-process': 'servers in one process',
  docker: 'servers in containers',
  attached: 'external servers',
} as const

/** Draws RTO, RPO and tokens in large type, each with its limit. */
const drawFigures = ({ rto, rpo, tokens }: DrillResult): Markup | undefined => {
  const figures = [rto && drawRto(rto), rpo && drawRpo(rpo), tokens && drawTokens(tokens)].filter((one) => one !== null)
  return figures.length === 0 ? undefined : markup`<div class="figures">${figures}</div>`
}

/** `isGood`: whether the value meets its limit. Undefined without a limit. */
const drawMeasurement = (label: string, value: string, about: string, isGood: boolean | undefined): Markup =>
  markup`<div class="${isGood === undefined ? '' : isGood ? 'good' : 'bad'}"><p>${label}</p><strong>${value}</strong><p>${about}</p></div>`

const limitOf = (text: string | undefined): string => (text === undefined ? 'no limit' : `limit ${text}`)

const drawRto = ({ ms, sloMs, acceptedBy }: NonNullable<DrillResult['rto']>): Markup => {
  const accepted = acceptedBy === null ? '' : `first write accepted by ${acceptedBy}; `
  const about = `${accepted}${limitOf(sloMs === undefined ? undefined : formatMs(sloMs))}`
  const isGood = ms === null ? false : sloMs === undefined ? undefined : ms <= sloMs
  return drawMeasurement('RTO, recovery time', ms === null ? 'no recovery' : formatMs(ms), about, isGood)
}

const drawRpo = ({ writesLost, sloWrites, acknowledged }: NonNullable<DrillResult['rpo']>): Markup => {
  const limit = limitOf(sloWrites === undefined ? undefined : formatNumber(sloWrites))
  const about = `of ${formatNumber(acknowledged)} acknowledged; ${limit}`
  const isGood = writesLost !== null && writesLost <= (sloWrites ?? 0)
  const value = writesLost === null ? 'unknown' : formatNumber(writesLost)
  return drawMeasurement('RPO, acknowledged writes lost', value, about, isGood)
}

const drawTokens = ({ survived, total }: NonNullable<DrillResult['tokens']>): Markup =>
  drawMeasurement(
    'Client tokens still valid',
    `${survived} of ${total}`,
    'issued before the first step',
    survived === total,
  )

const drawExpectations = ({ expectations }: DrillResult): Markup | undefined => {
  const failed = expectations.filter(({ passed }) => !passed).length
  const about =
    failed === 0
      ? `${expectations.length} of ${expectations.length} passed`
      : `${failed} of ${expectations.length} failed`
  return section(
    'Expectations',
    markup`<p class="note">${about}</p><ul class="checks">${expectations.map(
      ({ text, passed, evidence }) =>
        markup`<li><b class="${passed ? 'good-text' : 'bad-text'}">${passed ? '✓ passed' : '✗ failed'}</b><span>${text}</span>${evidence.length > 0 && markup`<ul>${evidence.map((line) => markup`<li>${line}</li>`)}</ul>`}</li>`,
    )}</ul>`,
  )
}

const drawTopology = ({ before, after }: DrillResult): Markup | undefined => {
  if (!before && !after) return undefined
  const pair = [before && topologyFigure('Before', before), after && topologyFigure('After', after)]
  return section('Topology', markup`<div class="pair">${pair.map((figure) => figure ?? undefined)}</div>`)
}

const CLIENTS = {
  'old-token': 'writers with an old token',
  'new-login': 'writers that log in again',
  reader: 'readers',
} as const

const drawInterruptions = ({ rto }: DrillResult): Markup | undefined => {
  const offset = (ms: number | null) => (ms === null ? '–' : formatOffset(ms))
  const rows = (Object.keys(CLIENTS) as (keyof typeof CLIENTS)[]).flatMap((kind) => {
    const seen = rto?.byClient[kind]
    if (!seen) return []
    const { ms, fromMs, toMs } = seen
    const lasted = ms === null ? 'until the end' : fromMs === null ? 'none' : formatMs(ms)
    return [[CLIENTS[kind], lasted, offset(fromMs), offset(toMs)]]
  })
  const heads = ['clients', 'interruption', 'first failure', 'recovered']
  return titled('Interruption by client type', drawTable(heads, rows))
}

/** Draws the events, except those about steps: steps have their own section. */
const drawEvents = ({ events }: DrillResult): Markup | undefined => {
  const rows = events
    .filter(({ kind }) => kind !== 'drill')
    .map((event) => [
      formatOffset(event.atMs),
      event.cluster ?? '',
      event.kind,
      event.command ?? describeDetails(event),
    ])
  return titled('Events', drawTable(['time', 'cluster', 'event', 'details'], rows))
}

/** Formats the details of an event, such as `from sealed, to unsealed`. */
const describeDetails = ({ details }: DrillEvent): string =>
  Object.entries(details)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')

const OUTCOMES = { passed: '', failed: 'failed after ', skipped: 'skipped' } as const

const drawSteps = ({ steps }: DrillResult): Markup =>
  markup`<ol class="steps">${steps.map(
    (step) =>
      markup`<li><h3>${step.name}<span class="${step.outcome === 'failed' ? 'bad-text' : ''}">${describeTime(step)}</span></h3><p class="note">${step.detail}</p>${step.error !== undefined && markup`<p class="bad-text">${step.error}</p>`}${drawCommands(step.commands)}${step.output !== undefined && markup`<pre>${step.output}</pre>`}</li>`,
  )}</ol>`

const describeTime = ({ outcome, startedMs, tookMs }: StepResult): string =>
  outcome === 'skipped' ? OUTCOMES.skipped : `${OUTCOMES[outcome]}${formatMs(tookMs)} at ${formatOffset(startedMs)}`

const drawCalls = ({ calls }: DrillResult): Markup | undefined => {
  const rows = calls.map(({ atMs, cluster, method, path, status, tookMs }) => [
    formatOffset(atMs),
    cluster,
    `${method} ${path}`,
    status === null ? 'no response' : String(status),
    formatMs(tookMs),
  ])
  return section('API requests', drawTable(['time', 'cluster', 'request', 'status', 'duration'], rows))
}

const drawLosses = ({ rpo, tokens, discarded }: DrillResult): Markup | undefined => {
  const writes = (rpo?.lost ?? []).map(({ key, ackedMs, cluster, client }) => [
    key,
    formatOffset(ackedMs),
    cluster,
    CLIENTS[client],
  ])
  const dead = (tokens?.lost ?? []).map(({ name, reason }) => [name, reason])
  return section(
    'Losses',
    drawTable(['key', 'acknowledged', 'by', 'client type'], writes),
    titled(
      'Log entries that a former primary discarded',
      drawTable(
        ['cluster', 'log entries', 'paths', 'credentials that came back'],
        discarded.map(({ cluster, entries, paths, restored }) => [
          cluster,
          formatNumber(entries),
          paths.join(', '),
          describeRestored(restored) || 'none',
        ]),
      ),
    ),
    titled('Tokens', drawTable(['token', 'reason'], dead)),
  )
}

const drawBackground = ({ symptom, fix }: DrillResult): Markup | undefined =>
  section('In production', drawFacts({ Symptom: symptom, Fix: fix }))

/** Draws the sign-off data, with a dash for a missing value. */
const drawAudit = ({ audit: { operator, approver, change, environment } }: DrillResult): Markup | undefined => {
  const facts = { Operator: operator, Approver: approver, Change: change, Environment: environment }
  return section(
    'Sign-off',
    drawFacts(Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, value || '–']))),
  )
}

const drawRepeat = ({ seed, versions, runner, topology, startedAt, howToRepeat }: DrillResult): Markup | undefined => {
  const servers = Object.entries(versions.servers).map(([name, version]) => `${name} ${version}`)
  const facts = drawFacts({
    started: startedAt,
    understudy: versions.understudy,
    Node: versions.node,
    'reported by servers': servers.join(', '),
    topology,
    runner,
    ...(seed !== '' && { seed }),
  })
  return section('Run it again', facts, drawCommands(howToRepeat.split('\n')))
}

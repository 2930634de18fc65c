import type { DrillResult, RtoResult } from '../drills/context/result.js'
import { formatMs, formatNumber, formatOffset } from '../texts/format.js'
import { drawCommands, drawTable, type Markup, markup, section } from './markup.js'

type Figure = {
  readonly value: string
  readonly label: string
  readonly about: string
  readonly isGood?: boolean | undefined
}

/** Draws RTO, RPO and tokens in large type, each with its limit. */
export const drawFigures = (result: DrillResult): Markup | undefined => {
  const figures = [rtoFigure(result), rpoFigure(result), tokensFigure(result)].filter((one) => one !== undefined)
  if (figures.length === 0) return undefined
  return markup`<div class="figures">${figures.map(
    ({ value, label, about, isGood }) =>
      markup`<div class="${isGood === undefined ? '' : isGood ? 'good' : 'bad'}"><p>${label}</p><strong>${value}</strong><p>${about}</p></div>`,
  )}</div>`
}

const rtoFigure = ({ rto }: DrillResult): Figure | undefined => {
  if (!rto) return undefined
  const { ms, sloMs, acceptedBy } = rto
  const accepted = acceptedBy === null ? '' : `first write accepted by ${acceptedBy}; `
  const slo = sloMs === undefined ? 'no limit was set' : `limit ${formatMs(sloMs)}`
  return {
    label: 'RTO, recovery time',
    value: ms === null ? 'no recovery' : formatMs(ms),
    about: `${accepted}${slo}`,
    isGood: ms === null ? false : sloMs === undefined ? undefined : ms <= sloMs,
  }
}

const rpoFigure = ({ rpo }: DrillResult): Figure | undefined => {
  if (!rpo) return undefined
  const { writesLost, sloWrites, acknowledged } = rpo
  const slo = sloWrites === undefined ? 'no limit was set' : `limit ${formatNumber(sloWrites)}`
  return {
    label: 'RPO, acknowledged writes lost',
    value: writesLost === null ? 'unknown' : formatNumber(writesLost),
    about: `of ${formatNumber(acknowledged)} acknowledged; ${slo}`,
    isGood: writesLost !== null && writesLost <= (sloWrites ?? 0),
  }
}

const tokensFigure = ({ tokens }: DrillResult): Figure | undefined =>
  tokens
    ? {
        label: 'Client tokens that still work',
        value: `${tokens.survived} of ${tokens.total}`,
        about: 'issued before the first step',
        isGood: tokens.survived === tokens.total,
      }
    : undefined

const CLIENTS = {
  'old-token': 'writers with an old token',
  'new-login': 'writers that log in again',
  reader: 'readers',
}

/** Draws the interruption for each kind of client. */
export const drawInterruptions = ({ rto }: DrillResult): Markup | undefined => {
  if (!rto) return undefined
  const rows = Object.entries(CLIENTS).flatMap(([kind, name]) => {
    const seen = rto.byClient[kind as keyof RtoResult['byClient']]
    if (!seen) return []
    const { ms, fromMs, toMs } = seen
    return [
      [
        name,
        ms === null ? 'never served again' : fromMs === null ? 'none' : formatMs(ms),
        offset(fromMs),
        offset(toMs),
      ],
    ]
  })
  if (rows.length === 0) return undefined
  return markup`<figure><h3>Interruption by kind of client</h3>${drawTable(['clients', 'interruption', 'first refusal', 'served again'], rows)}</figure>`
}

const offset = (ms: number | null): string => (ms === null ? '–' : formatOffset(ms))

/** Draws a table of lost acknowledged writes, and one of lost tokens. */
export const drawLosses = ({ rpo, tokens }: DrillResult): Markup | undefined => {
  const lost = rpo?.lost ?? []
  const dead = tokens?.lost ?? []
  if (lost.length === 0 && dead.length === 0) return undefined
  const writes = lost.map(({ key, ackedMs, cluster, client }) => [key, formatOffset(ackedMs), cluster, CLIENTS[client]])
  return section(
    'What was lost',
    lost.length > 0 && drawTable(['key', 'acknowledged', 'by', 'written by'], writes),
    dead.length > 0 &&
      markup`<figure><h3>Tokens</h3>${drawTable(
        ['token', 'why it does not work'],
        dead.map(({ name, reason }) => [name, reason]),
      )}</figure>`,
  )
}

/** Draws the environment of the drill, and the commands that repeat it. */
export const drawRepeat = ({ seed, versions, runner, topology, startedAt, howToRepeat }: DrillResult): Markup => {
  const servers = Object.entries(versions.servers).map(([name, version]) => `${name} ${version}`)
  const facts = [
    ['started', startedAt],
    ['understudy', versions.understudy],
    ['Node', versions.node],
    ['reported by servers', servers.join(', ')],
    ['topology', topology],
    ['runner', runner],
    ['seed', seed],
  ]
  return section(
    'Run it again',
    markup`<dl class="facts">${facts.map(([name, value]) => markup`<dt>${name}</dt><dd>${value}</dd>`)}</dl>${drawCommands(howToRepeat.split('\n'))}`,
  )
}

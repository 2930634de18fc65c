import { counted } from '../../../base/counted.js'
import type { Command } from 'commander'
import { openLab } from '../../../lab/live/open-lab.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { thisHost } from '../../../lab/processes/lab-host.js'
import { type LagFigures, probeLab, type ProbeResult } from '../../../lab/live/probe.js'
import { TypedCommand } from '../../terminal/command.js'
import { withInterrupt } from '../../terminal/interrupt.js'
import { formatTable, type Output } from '../../terminal/output.js'
import { parseTimeout } from './options.js'

/** `understudy probe`: measures how long writes on the primary take to reach the other clusters. */
export const probeCommand = (output: Output): Command =>
  new TypedCommand('probe')
    .description('measure the replication delay of writes on the primary')
    .lab()
    .flag('--for <duration>', 'duration of the measurement, such as 30s; Ctrl-C ends it early', '10s')
    .timeout()
    .json()
    .examples('probe --for 30s', 'probe --name drill --json')
    .run(async (flags) => {
      const durationMs = parseTimeout(flags.for)
      const patienceMs = parseTimeout(flags.timeout)
      await using lab = openLab(flags.name, thisHost())
      await withInterrupt(async ({ signal }) => {
        const result = await probeLab(lab, { durationMs, patienceMs, onProgress: output.progress, signal })
        output.data(flags.json ? JSON.stringify(result, undefined, 2) : describe(result))
        const behind = result.clusters.filter(({ missed }) => missed > 0).map(({ cluster }) => cluster)
        if (behind.length > 0)
          throw new LabError('timeout', `some writes did not arrive within ${flags.timeout} on ${behind.join(', ')}`)
      })
    })

const describe = ({ primary, writes, durationMs, clusters, skipped }: ProbeResult): string =>
  [
    `${counted(writes, 'write')} on ${primary} in ${(durationMs / 1000).toFixed(1)} s`,
    '',
    formatTable([HEADER, ...clusters.map(toRow)]),
    ...skipped.map(({ cluster, why }) => `${cluster} was skipped: it ${why}`),
  ].join('\n')

const HEADER = ['cluster', 'measured by', 'samples', 'min', 'p50', 'p95', 'max', 'missed']
const MEASURED_BY = { read: 'read', wal: 'WAL index' } as const

const toRow = ({ cluster, by, samples, minMs, p50Ms, p95Ms, maxMs, missed }: LagFigures): string[] => [
  cluster,
  MEASURED_BY[by],
  String(samples),
  ...[minMs, p50Ms, p95Ms, maxMs].map((ms) => (samples === 0 ? '-' : `${ms} ms`)),
  String(missed),
]

import { useMemo } from 'preact/hooks'
import type { PageEvent } from '../../lab/web/page-facts.js'
import { Curve } from './curve.js'
import { phasesOf, plainCurves, requestCurves, type Sample } from './curves-of.js'

interface CurvesProps {
  readonly samples: readonly Sample[]
  readonly events: readonly PageEvent[]
}

const CURVES = [
  { of: 'lag', title: 'Replication lag (entries)', unit: 'entries' },
  { of: 'requests', title: 'Requests per second', unit: 'per second' },
  { of: 'wal', title: 'WAL index', unit: '' },
] as const

/** The curves of the last 15 minutes, for the time that this page was open. */
export const CurvesView = ({ samples, events }: CurvesProps) => {
  const shown = useMemo(
    () => ({
      lag: plainCurves(samples, 'lag'),
      requests: requestCurves(samples),
      wal: plainCurves(samples, 'wal'),
    }),
    [samples],
  )
  const phases = useMemo(() => phasesOf(events, samples.at(-1)?.atMs ?? 0), [events, samples])
  return (
    <section class="curves" aria-labelledby="curves-title">
      <h2 id="curves-title" class="unseen">
        Charts of the last 15 minutes
      </h2>
      {CURVES.filter(({ of }) => shown[of].lines.length > 0).map(({ of, ...words }) => (
        <Curve key={of} {...words} curves={shown[of]} phases={phases} />
      ))}
    </section>
  )
}

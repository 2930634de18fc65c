import type { ComponentChildren } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { OnAsk } from './actions/lab-actions.js'
import { Cards } from './actions/cards.js'
import { Jobs } from './actions/jobs.js'
import { CurvesView } from './curves/curve.js'
import { isStale, type PageState } from './feed/state.js'
import { ClusterTable } from './diagram/cluster-table.js'
import { Diagram } from './diagram/diagram.js'
import { Timeline } from './timeline/timeline.js'

interface PageHeaderProps {
  /** Name of the lab or the server. Empty if unknown. */
  readonly name: string
  readonly detail: string
  /** The title of the open view. Undefined for the first view. */
  readonly view?: string | undefined
  readonly look: PageState['connection']
  readonly text: string
  readonly children: ComponentChildren
}

/** The header of a page: its name, its parts, and whether its data is current. */
export const PageHeader = ({ name, detail, view = '', look, text, children }: PageHeaderProps) => {
  useEffect(() => {
    document.title = [view, name, 'Understudy'].filter(Boolean).join(' · ')
  }, [view, name])
  return (
    <header>
      <h1>
        Understudy
        {name !== '' && <span class="lab"> {name}</span>}
        {detail !== '' && <span class="topology"> {detail}</span>}
      </h1>
      {children}
      <p class={`connection ${look}`} role="status">
        <span aria-hidden="true">{look === 'live' ? '●' : '○'}</span> {text}
      </p>
    </header>
  )
}

interface OverviewProps {
  readonly state: PageState
  /** Hides the overview but keeps its state. */
  readonly isHidden: boolean
  readonly onAsk: OnAsk
}

/** All clusters: the topology diagram, the curves and the timeline. */
export const Overview = ({ state, isHidden, onAsk }: OverviewProps) => {
  const { survey, events, samples, works } = state
  const names = survey?.clusters.map(({ name }) => name).join('\n') ?? ''
  // Unchanged parts are not rendered again with each survey.
  const timeline = useMemo(
    () => <Timeline events={events} clusters={names === '' ? [] : names.split('\n')} hasEvents={survey?.hasEvents} />,
    [events, names, survey?.hasEvents],
  )
  const done = useMemo(() => <Jobs works={works} />, [works])
  return (
    <main hidden={isHidden}>
      <section aria-labelledby="diagram-title">
        <h2 id="diagram-title" class="unseen">
          Clusters
        </h2>
        <Verdict state={state} />
        {survey && <Diagram survey={survey} isStale={isStale(state)} onAsk={onAsk} />}
        {survey && !isStale(state) && survey.problems.length > 1 && (
          <ul class="problems" aria-label="Other problems">
            {survey.problems.slice(1).map((text) => (
              <li key={text}>
                <span aria-hidden="true">! </span>
                {text}
              </li>
            ))}
          </ul>
        )}
        {survey && <CurvesView samples={samples} events={events} />}
        {survey && <ClusterTable survey={survey} />}
      </section>
      <div class="side">
        {survey && <Cards survey={survey} onAsk={onAsk} />}
        {done}
        {timeline}
      </div>
    </main>
  )
}

/** The overall status. Screen readers announce its changes. */
const Verdict = ({ state: { survey, gone, connection } }: { readonly state: PageState }) => {
  const [first, ...more] = gone === undefined ? (survey?.problems ?? []) : [gone]
  if (!survey && gone === undefined) return <p class="verdict">Loading …</p>
  if (connection !== 'live') return <p class="verdict">Connection lost. This is the last known state.</p>
  return (
    <p class={`verdict ${first === undefined ? 'well' : 'bad'}`} aria-live="polite">
      {first === undefined ? '✓ Healthy' : `! ${gone === undefined ? 'Degraded' : 'Down'}: ${first}`}
      {more.length > 0 && <span> and {more.length} more below</span>}
    </p>
  )
}

import type { ComponentChildren } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { OpenActions } from './actions/lab-actions.js'
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
  /** The topology of the lab, or the version of the server. Empty if unknown. */
  readonly detail: string
  /** The title of the open view. Undefined on the overview of a lab. */
  readonly view?: string | undefined
  readonly connection: PageState['connection']
  readonly statusText: string
  readonly children: ComponentChildren
}

/** The header of a page: name, navigation (`children`) and connection state. Also sets the title of the browser tab. */
export const PageHeader = ({ name, detail, view = '', connection, statusText, children }: PageHeaderProps) => {
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
      <p class={`connection ${connection}`} role="status">
        <span aria-hidden="true">{connection === 'live' ? '●' : '○'}</span> {statusText}
      </p>
    </header>
  )
}

interface OverviewProps {
  readonly state: PageState
  /** Hides the overview but keeps its state. */
  readonly isHidden: boolean
  readonly openActions: OpenActions
}

/** All clusters: the topology diagram, the charts, the jobs and the timeline. */
export const Overview = ({ state, isHidden, openActions }: OverviewProps) => {
  const { survey, events, samples, jobs } = state
  const names = survey?.clusters.map(({ name }) => name).join('\n') ?? ''
  // A survey arrives every second. The memoized parts are rendered again only if their own input changes.
  const timeline = useMemo(
    () => <Timeline events={events} clusters={names === '' ? [] : names.split('\n')} hasEvents={survey?.hasEvents} />,
    [events, names, survey?.hasEvents],
  )
  const jobList = useMemo(() => <Jobs jobs={jobs} />, [jobs])
  return (
    <main hidden={isHidden}>
      <section aria-labelledby="diagram-title">
        <h2 id="diagram-title" class="unseen">
          Clusters
        </h2>
        <OverallStatus state={state} />
        {survey && <Diagram survey={survey} isStale={isStale(state)} openActions={openActions} />}
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
        {survey && <Cards survey={survey} openActions={openActions} />}
        {jobList}
        {timeline}
      </div>
    </main>
  )
}

/** The overall status. Screen readers announce its changes. */
const OverallStatus = ({ state: { survey, gone, connection } }: { readonly state: PageState }) => {
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

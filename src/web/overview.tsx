import { useMemo } from 'preact/hooks'
import type { OnAsk } from './actions/offers.js'
import { Works } from './actions/works.js'
import { CurvesView } from './curves/curves.js'
import { isStale, type PageState } from './feed/state.js'
import { ClusterTable } from './picture/cluster-table.js'
import { Picture } from './picture/picture.js'
import { Timeline } from './timeline/timeline.js'

interface OverviewProps {
  readonly state: PageState
  /** It is there and not shown: what was chosen in it stays. */
  readonly isHidden: boolean
  readonly onAsk: OnAsk
}

/** All clusters that the page knows of: their picture, their curves and what happens. */
export const Overview = ({ state, isHidden, onAsk }: OverviewProps) => {
  const { survey, events, primaries, samples, works } = state
  const names = survey?.clusters.map(({ name }) => name).join('\n') ?? ''
  // What did not change is not drawn again with each look at the clusters.
  const timeline = useMemo(
    () => <Timeline events={events} clusters={names === '' ? [] : names.split('\n')} hasEvents={survey?.hasEvents} />,
    [events, names, survey?.hasEvents],
  )
  const done = useMemo(() => <Works works={works} />, [works])
  return (
    <main hidden={isHidden}>
      <section class="picture-side" aria-labelledby="picture-title">
        <h2 id="picture-title" class="unseen">
          Clusters
        </h2>
        <Verdict state={state} />
        {survey && <Picture survey={survey} primaries={primaries} isStale={isStale(state)} onAsk={onAsk} />}
        {survey && !isStale(state) && survey.problems.length > 1 && <Problems problems={survey.problems.slice(1)} />}
        {survey && <CurvesView samples={samples} events={events} />}
        {survey && <ClusterTable survey={survey} />}
      </section>
      <div class="side">
        {done}
        {timeline}
      </div>
    </main>
  )
}

/** In one line, so that the picture stays where it is; said aloud by a screen reader when it changes. */
const Verdict = ({ state: { survey, gone, connection } }: { readonly state: PageState }) => {
  const [first, ...more] = gone === undefined ? (survey?.problems ?? []) : [gone]
  if (!survey && gone === undefined) return <p class="verdict">looking at the clusters …</p>
  if (connection !== 'live') return <p class="verdict">this is how it was when somebody answered last</p>
  return (
    <p class={`verdict ${first === undefined ? 'well' : 'bad'}`} aria-live="polite">
      {first === undefined ? '✓ nothing is wrong' : `! ${first}`}
      {more.length > 0 && <span> and {more.length} more below</span>}
    </p>
  )
}

const Problems = ({ problems }: Pick<NonNullable<PageState['survey']>, 'problems'>) => (
  <ul class="problems" aria-label="what else is wrong">
    {problems.map((text) => (
      <li key={text}>
        <span aria-hidden="true">! </span>
        {text}
      </li>
    ))}
  </ul>
)

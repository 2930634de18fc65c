import { render } from 'preact'
import { useEffect, useMemo, useReducer, useState } from 'preact/hooks'
import { ActionDialog } from './actions/action-dialog.js'
import { offersOf, type Subject } from './actions/offers.js'
import { Works } from './actions/works.js'
import { CurvesView } from './curves/curves.js'
import { connect } from './feed/connect.js'
import { BEGIN, type PageState, reduce } from './feed/state.js'
import { ClusterTable } from './picture/cluster-table.js'
import { Picture } from './picture/picture.js'
import { Timeline } from './timeline/timeline.js'

const CONNECTION_TEXTS: Readonly<Record<PageState['connection'], string>> = {
  connecting: 'connecting …',
  live: 'live',
  lost: 'no answer from "understudy web"; trying again',
  full: 'there is no place for one more page: close another one, and this one goes on',
  ended: 'this session has ended: open the link that "understudy web" prints',
}

const App = () => {
  const [state, dispatch] = useReducer(reduce, BEGIN)
  const [asked, ask] = useState<Subject | undefined>()
  useEffect(() => connect(dispatch), [])
  const { survey, events, primaries, samples, works } = state
  const isStale = state.connection !== 'live'
  const onAsk = survey && survey.verbs.length > 0 && !isStale && state.gone === undefined ? ask : undefined
  useEffect(() => {
    document.title = survey ? `${survey.lab} · Understudy` : 'Understudy'
  }, [survey?.lab])
  const names = survey?.clusters.map(({ name }) => name).join('\n') ?? ''
  // What did not change is not drawn again with each look at the clusters.
  const timeline = useMemo(
    () => <Timeline events={events} clusters={names === '' ? [] : names.split('\n')} hasEvents={survey?.hasEvents} />,
    [events, names, survey?.hasEvents],
  )
  return (
    <>
      <Header state={state} onAsk={onAsk} />
      <main>
        <section class="picture-side" aria-labelledby="picture-title">
          <h2 id="picture-title" class="unseen">
            Clusters
          </h2>
          <Verdict state={state} />
          {survey && <Picture survey={survey} primaries={primaries} isStale={isStale} onAsk={onAsk} />}
          {survey && survey.problems.length > 1 && <Problems problems={survey.problems} />}
          {survey && <ClusterTable survey={survey} />}
          {survey && <CurvesView samples={samples} events={events} />}
        </section>
        <div class="side">
          {useMemo(
            () => (
              <Works works={works} />
            ),
            [works],
          )}
          {timeline}
        </div>
      </main>
      {asked && survey && (
        <ActionDialog
          subject={asked}
          offers={offersOf(asked, survey, primaries)}
          topology={survey.topology}
          onClose={() => ask(undefined)}
        />
      )}
    </>
  )
}

interface HeaderProps {
  readonly state: PageState
  /** Absent where nothing can be done. */
  readonly onAsk: ((subject: Subject) => void) | undefined
}

const Header = ({ state: { survey, connection }, onAsk }: HeaderProps) => (
  <header>
    <h1>
      Understudy{survey && <span class="lab"> {survey.lab}</span>}
      {survey && survey.topology !== survey.lab && <span class="topology"> {survey.topology}</span>}
    </h1>
    {onAsk && (
      <button type="button" class="of-lab" onClick={() => onAsk({ of: 'lab' })}>
        Drill, snapshot, reset …
      </button>
    )}
    <p class={`connection ${connection}`} role="status">
      <span aria-hidden="true">{connection === 'live' ? '●' : '○'}</span> {CONNECTION_TEXTS[connection]}
    </p>
  </header>
)

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
  <ul class="problems" aria-label="what is wrong">
    {problems.map((text) => (
      <li key={text}>
        <span aria-hidden="true">! </span>
        {text}
      </li>
    ))}
  </ul>
)

render(<App />, document.body)

import { useEffect, useRef, useState } from 'preact/hooks'
import type { PageDrill, PageLine, PageStep, PageJob } from '../../lab/web/page-job.js'
import { Button } from '../parts/inputs.js'
import { CommandLine } from '../parts/text.js'
import { stop } from './lab-actions.js'

const STATE_SIGNS: Readonly<Record<PageJob['state'], string>> = { running: '◐', done: '✓', failed: '✗', stopped: '■' }
const STEP_SIGNS: Readonly<Record<PageStep['state'], string>> = {
  waiting: '·',
  running: '▶',
  passed: '✓',
  failed: '✗',
  skipped: '–',
}

/** The current and past jobs of the page, newest first; nothing if there are none. A job is one run of an action. */
export const Jobs = ({ jobs }: { readonly jobs: readonly PageJob[] }) => {
  const newest = jobs.at(-1)
  const section = useRef<HTMLElement>(null)
  const runningStep = newest?.drill?.steps.findIndex(({ state }) => state === 'running')
  useEffect(() => {
    if (section.current) showNewest(section.current)
  }, [newest?.id, newest?.state, runningStep])
  if (!newest) return null
  return (
    <section class="works" aria-labelledby="works-title" ref={section}>
      <h2 id="works-title" class="unseen">
        Actions
      </h2>
      <p class="unseen" role="status">
        {`${newest.title}: ${newest.state}. ${newest.outcome}`}
      </p>
      {jobs.toReversed().map((work) => (
        <Work key={work.id} work={work} isNewest={work === newest} />
      ))}
    </section>
  )
}

/**
 * Scrolls to the current step of a drill, or to the start of the list. Scrolls only this list, so that the topology
 * diagram stays visible.
 */
const showNewest = (section: HTMLElement): void => {
  const step = section.querySelector<HTMLElement>('[aria-current=step]')
  const top = step ? step.offsetTop - section.offsetTop : 0
  section.scrollTop = Math.max(0, top - section.clientHeight / 2)
}

const seconds = (ms: number): string => (ms < 100 ? 'under 0.1 s' : `${(ms / 1000).toFixed(1)} s`)

const Work = ({ work, isNewest }: { readonly work: PageJob; readonly isNewest: boolean }) => (
  <details class={`work ${work.state}`} open={isNewest}>
    <summary>
      <span class="sign" aria-hidden="true">
        {STATE_SIGNS[work.state]}
      </span>{' '}
      {work.title} <span class="state">{work.state}</span>{' '}
      {work.tookMs !== null && <span class="took">in {seconds(work.tookMs)}</span>}
    </summary>
    {work.outcome !== '' && (
      // The measurements of a drill are in large type, one per line, to be readable from the back of a room.
      <p class={`outcome ${work.drill ? 'measured' : ''}`}>
        {work.drill ? work.outcome.split('  ').join('\n') : work.outcome}
      </p>
    )}
    {work.state === 'running' && work.canBeStopped && <Stop id={work.id} />}
    {work.drill && <Drill drill={work.drill} />}
    <ul>
      {textsOf(work, 'said').map((text, index) => (
        <li key={index}>{text}</li>
      ))}
    </ul>
    {work.command !== null && <CommandLine text={work.command} />}
    <Calls lines={callsOf(work)} />
  </details>
)

const textsOf = ({ lines, outcome }: PageJob, wanted: PageLine['kind']): readonly string[] =>
  lines.filter(({ kind, text }) => kind === wanted && text !== outcome).map(({ text }) => text)

const callsOf = (work: PageJob): readonly string[] =>
  work.drill ? work.drill.steps.flatMap(({ commands }) => commands) : textsOf(work, 'call')

const Calls = ({ lines }: { readonly lines: readonly string[] }) =>
  lines.length === 0 ? null : (
    <details class="calls">
      <summary>{lines.length === 1 ? '1 API call' : `${lines.length} API calls`}</summary>
      {lines.map((line, index) => (
        <CommandLine key={index} text={line} />
      ))}
    </details>
  )

const Stop = ({ id }: { readonly id: number }) => {
  const [problem, setProblem] = useState('')
  return (
    <p>
      <Button label="Stop" onClick={() => stop(id).catch((error: Error) => setProblem(error.message))} /> {problem}
    </p>
  )
}

const Drill = ({ drill: { steps, expectations } }: { readonly drill: PageDrill }) => (
  <>
    <ol class="steps" aria-label="Drill steps">
      {steps.map((step, index) => (
        <li key={index} class={step.state} aria-current={step.state === 'running' ? 'step' : undefined}>
          <span aria-hidden="true">{STEP_SIGNS[step.state]}</span> {step.name} <span class="unseen">{step.state}</span>{' '}
          {step.tookMs !== null && step.state !== 'skipped' && <span class="took">{seconds(step.tookMs)}</span>}
          {step.error !== null && <p class="error">{step.error}</p>}
        </li>
      ))}
    </ol>
    {expectations.length > 0 && (
      <ul class="expectations" aria-label="Expectations">
        {expectations.map(({ text, passed, evidence }) => (
          <li key={text} class={passed ? 'passed' : 'failed'}>
            <span aria-hidden="true">{passed ? '✓' : '✗'}</span> {text}{' '}
            <span class="unseen">{passed ? 'passed' : 'failed'}</span>
            {evidence.length > 0 && <p>{evidence.join('; ')}</p>}
          </li>
        ))}
      </ul>
    )}
  </>
)

import { Component } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { PageEvent } from '../../lab/web/page-facts.js'
import { Chooser } from '../parts/inputs.js'
import { Copy, ShellLine } from '../parts/text.js'
import { TIME, ZONE } from '../parts/times.js'
import { type Filter, filterEvents, GROUPS, type Group, groupOf } from './filter.js'

interface TimelineProps {
  readonly events: readonly PageEvent[]
  readonly clusters: readonly string[]
  readonly hasEvents: boolean | undefined
}

const ALL = Object.keys(GROUPS) as Group[]

/** The events, newest first. */
export const Timeline = ({ events, clusters, hasEvents }: TimelineProps) => {
  const [filter, setFilter] = useState<Filter>({ groups: new Set(ALL), cluster: '', text: '' })
  const shown = useMemo(() => filterEvents(events, filter), [events, filter])
  const toggle = (group: Group) => {
    const groups = new Set(filter.groups)
    if (!groups.delete(group)) groups.add(group)
    setFilter({ ...filter, groups })
  }
  return (
    <section class="timeline" aria-labelledby="timeline-title">
      <h2 id="timeline-title">
        Events <span class="zone">time zone: {ZONE}</span>
      </h2>
      <div class="filters">
        <fieldset>
          <legend class="unseen">Event types</legend>
          {ALL.map((group) => (
            <label key={group}>
              <input type="checkbox" checked={filter.groups.has(group)} onChange={() => toggle(group)} /> {group}
            </label>
          ))}
        </fieldset>
        <Chooser
          aria-label="Cluster"
          value={filter.cluster}
          options={[['', 'All clusters'], ...clusters]}
          onChoose={(cluster) => setFilter({ ...filter, cluster })}
        />
        <input
          type="search"
          aria-label="Search events"
          placeholder="Search"
          value={filter.text}
          onInput={({ currentTarget }) => setFilter({ ...filter, text: currentTarget.value })}
        />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard user must be able to scroll it */}
      <ol tabIndex={0} aria-label="Events, newest first">
        {shown.map((event) => (
          <Row key={event.id} event={event} />
        ))}
      </ol>
      {shown.length === 0 && <p class="nothing">{nothingText(hasEvents, events.length)}</p>}
    </section>
  )
}

const nothingText = (hasEvents: boolean | undefined, count: number): string => {
  if (hasEvents === false)
    return 'This lab has no lab daemon, so no events are recorded. "understudy up" starts a lab with a lab daemon.'
  return count === 0
    ? 'No events yet. Run an action, a drill or a command to see its events.'
    : 'No event matches the filter. Clear the search, or select more types.'
}

interface RowProps {
  readonly event: PageEvent
}

/** Events never change, so existing rows are not rendered again when an event arrives. */
class Row extends Component<RowProps> {
  override shouldComponentUpdate({ event }: RowProps): boolean {
    return event !== this.props.event
  }

  override render({ event: { time, cluster, kind, text, command } }: RowProps) {
    return (
      <li class={groupOf(kind)}>
        <div class="line">
          <time dateTime={time}>{TIME.format(new Date(time))}</time>
          {cluster !== null && <b>{cluster}</b>}
          <span class="kind">{kind}</span>
          {command !== null && <Copy text={command} />}
        </div>
        {text === command ? <ShellLine text={text} /> : <span>{text}</span>}
        {command !== null && text !== command && <ShellLine text={command} />}
      </li>
    )
  }
}

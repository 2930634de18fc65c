import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { PageCluster, PageSurvey } from '../../lab/web/page-facts.js'
import type { OnAsk, Subject } from '../actions/lab-actions.js'
import { type Layout, layOut } from './layout.js'
import { NodeRow } from './node-row.js'
import { pathBetween } from './paths.js'
import { placeClusters } from './places.js'
import { type Arrow, arrowsOf, detailOf, KIND_WORDS, nodeSignsOf, signsOf, standingOf, walOf } from '../parts/words.js'

interface PictureProps {
  readonly survey: PageSurvey
  /** True if the shown data may be out of date. */
  readonly isStale: boolean
  readonly onAsk: OnAsk
}

/**
 * The topology diagram: clusters, and arrows from primaries to their secondaries. Screen readers get the table below
 * it, and only the buttons of the diagram.
 */
export const Picture = ({ survey, isStale, onAsk }: PictureProps) => {
  const [element, width] = useWidth()
  const planned = survey.planned.map(({ kind, primary, secondary }) => `${kind} ${primary} ${secondary}`).join('\n')
  const names = survey.clusters.map(({ name }) => name).join('\n')
  const nodes = Math.max(0, ...survey.clusters.map((cluster) => cluster.nodes?.length ?? 0))
  const layout = useMemo(
    () =>
      layOut(
        placeClusters(
          survey.clusters.map(({ name }) => name),
          survey.planned,
        ),
        width,
        nodes,
      ),
    [planned, names, width, nodes],
  )
  const arrows = arrowsOf(survey)
  return (
    <div class={`picture ${isStale ? 'stale' : ''}`} ref={element}>
      {width > 0 && (
        <div class="stage" style={{ height: `${layout.height}px` }}>
          <Arrows arrows={arrows} layout={layout} />
          {survey.clusters.map((cluster) => (
            <ClusterBox
              key={cluster.name}
              cluster={cluster}
              layout={layout}
              arrows={arrows}
              faults={survey.faults}
              onAsk={onAsk}
            />
          ))}
          {arrows.map((arrow) => (
            <ArrowWords key={arrow.key} arrow={arrow} layout={layout} arrows={arrows} onAsk={onAsk} />
          ))}
        </div>
      )}
    </div>
  )
}

const useWidth = () => {
  const element = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const { current } = element
    if (!current) return undefined
    setWidth(current.clientWidth)
    const observer = new ResizeObserver(() => setWidth(current.clientWidth))
    observer.observe(current)
    return () => observer.disconnect()
  }, [])
  return [element, width] as const
}

/** Numbers the arrows between the same two boxes. Stacked boxes share one set of lanes. */
const laneOf = (arrow: Arrow, arrows: readonly Arrow[], { isStacked }: Layout): number => {
  const pair = (one: Arrow) => [one.primary, one.secondary].sort().join(' ')
  return arrows.slice(0, arrows.indexOf(arrow)).filter((one) => isStacked || pair(one) === pair(arrow)).length
}

const pathOf = (arrow: Arrow, arrows: readonly Arrow[], layout: Layout) => {
  const from = layout.boxes.get(arrow.primary)
  const to = layout.boxes.get(arrow.secondary)
  return from && to ? pathBetween(layout, from, to, laneOf(arrow, arrows, layout)) : undefined
}

const Arrows = ({ arrows, layout }: { readonly arrows: readonly Arrow[]; readonly layout: Layout }) => (
  <svg width={layout.width} height={layout.height} aria-hidden="true">
    <defs>
      {(['well', 'working', 'cut'] as const).map((state) => (
        <marker
          key={state}
          id={`head-${state}`}
          class={`head ${state}`}
          viewBox="0 0 12 12"
          refX="1"
          refY="6"
          markerWidth="14"
          markerHeight="14"
          markerUnits="userSpaceOnUse"
          orient="auto"
        >
          <path d="M0 0 L12 6 L0 12 Z" />
        </marker>
      ))}
    </defs>
    {arrows.map((arrow) => (
      <path
        key={arrow.key}
        class={`arrow ${arrow.kind} ${arrow.state}`}
        data-arrow={`${arrow.primary} ${arrow.kind} ${arrow.secondary}`}
        d={pathOf(arrow, arrows, layout)?.line}
        marker-end={`url(#head-${arrow.state})`}
      />
    ))}
  </svg>
)

interface ArrowWordsProps {
  readonly arrow: Arrow
  readonly arrows: readonly Arrow[]
  readonly layout: Layout
  readonly onAsk: OnAsk
}

const ArrowWords = ({ arrow, arrows, layout, onAsk }: ArrowWordsProps) => {
  const path = pathOf(arrow, arrows, layout)
  if (!path) return null
  const signs = signsOf(arrow)
  const look = layout.isStacked ? 'narrow' : path.isAbove ? 'above' : path.isDown ? 'down' : ''
  return (
    <div
      class={`words ${arrow.state} ${look} ${layout.isRoomy ? 'roomy' : ''}`}
      style={{ left: `${path.words.x}px`, top: `${path.words.y}px` }}
    >
      <div class="state" aria-hidden="true">
        {signs !== '' && <strong>{signs}</strong>}
        {!layout.isStacked && (
          <span>
            <b class="part">{KIND_WORDS[arrow.kind]}</b> <span class="part">{arrow.lag}</span>
          </span>
        )}
        {arrow.stateWords !== '' && <span>{arrow.stateWords}</span>}
      </div>
      {onAsk && (
        <Do
          what={`the ${KIND_WORDS[arrow.kind]} link from ${arrow.primary} to ${arrow.secondary}`}
          onClick={() => onAsk(subjectOf(arrow))}
        />
      )}
    </div>
  )
}

const subjectOf = ({ primary, secondary }: Arrow): Subject => ({
  ...{ key: `link ${primary} ${secondary}`, title: `Link between ${primary} and ${secondary}` },
})

/** An invisible button that covers its whole box or label. */
const Do = ({ what, onClick }: { readonly what: string; readonly onClick: () => void }) => (
  <button type="button" class="do" aria-label={`do something to ${what}`} onClick={onClick}>
    <span aria-hidden="true">⋯</span>
  </button>
)

/** Longer cluster names have their own line in smaller type. */
const NAME_SHORT = 5

/** Number of characters at the end that distinguish names. */
const END = 6

/** Shortens a long name in the middle, because the names of one lab often begin alike. */
const Name = ({ name }: { readonly name: string }) => (
  <span class="name" title={name}>
    <span class="start">{name.length > NAME_SHORT ? name.slice(0, -END) : name}</span>
    {name.length > NAME_SHORT && <span>{name.slice(-END)}</span>}
  </span>
)

interface ClusterBoxProps {
  readonly cluster: PageCluster
  readonly layout: Layout
  readonly arrows: readonly Arrow[]
  readonly faults: PageSurvey['faults']
  readonly onAsk: OnAsk
}

const ClusterBox = ({ cluster, layout, arrows, faults, onAsk }: ClusterBoxProps) => {
  const box = layout.boxes.get(cluster.name)
  if (!box) return null
  const { word, look } = standingOf(cluster)
  const wal = walOf(cluster)
  // If arrows have no space for labels, the secondaries show their lag.
  const lags = layout.isStacked ? arrows.filter(({ secondary }) => secondary === cluster.name) : []
  const place = { left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px` }
  return (
    <div class={`cluster ${look}`} style={place} data-cluster={cluster.name}>
      {onAsk && (
        <Do
          what={`cluster ${cluster.name}, ${word}`}
          onClick={() => onAsk({ key: `cluster ${cluster.name}`, title: `Cluster ${cluster.name}` })}
        />
      )}
      <div class={`top ${cluster.name.length > NAME_SHORT ? 'long' : ''}`} aria-hidden="true">
        <Name name={cluster.name} />
        <span class="word">{word}</span>
      </div>
      <span class="roles" aria-hidden="true">
        {detailOf(cluster)}
      </span>
      <span class="facts" aria-hidden="true">
        {lags.map(({ kind, lag, primary }) => (
          <span key={kind}>{`${primary} → ${cluster.name}: ${lag}`}</span>
        ))}{' '}
        {wal !== undefined && <span>WAL {wal}</span>} <span>{cluster.apiAddress.replace(/^https?:\/\//, '')}</span>
      </span>
      {cluster.nodes?.map((node) => (
        <NodeRow key={node.name} node={node} signs={nodeSignsOf(node.name, faults)} onAsk={onAsk} />
      ))}
    </div>
  )
}

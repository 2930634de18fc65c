import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { PageCluster, PageNode, PageSurvey } from '../../lab/web/page-facts.js'
import type { OnAsk } from '../actions/lab-actions.js'
import {
  type Arrow,
  arrowsOf,
  detailOf,
  KIND_WORDS,
  nodeSignsOf,
  nodeStatusOf,
  signsOf,
  clusterStatusOf,
  walOf,
} from '../parts/words.js'
import { type ArrowPath, type Box, type Layout, layOut, pathBetween, placeClusters } from './layout.js'

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
  const names = survey.clusters.map(({ name }) => name)
  const planned = survey.planned.map(({ kind, primary, secondary }) => `${kind} ${primary} ${secondary}`)
  const nodes = Math.max(0, ...survey.clusters.map((cluster) => cluster.nodes?.length ?? 0))
  const layout = useMemo(
    () => layOut(placeClusters(names, survey.planned), width, nodes),
    [planned.join('\n'), names.join('\n'), width, nodes],
  )
  const arrows = drawArrows(arrowsOf(survey), layout)
  return (
    <div class={`picture ${isStale ? 'stale' : ''}`} ref={element}>
      {width > 0 && (
        <div class="stage" style={{ height: `${layout.height}px` }}>
          <Arrows arrows={arrows} layout={layout} />
          {survey.clusters.map((cluster) => (
            <ClusterBox
              key={cluster.name}
              {...{ cluster, faults: survey.faults, onAsk }}
              box={layout.boxes.get(cluster.name)}
              // If arrows have no space for labels, the secondaries show their lag.
              lags={layout.isStacked ? arrows.filter(({ secondary }) => secondary === cluster.name) : []}
            />
          ))}
          {arrows.map((arrow) => (
            <ArrowWords key={arrow.key} arrow={arrow} layout={layout} onAsk={onAsk} />
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

interface DrawnArrow extends Arrow {
  readonly path: ArrowPath
}

/** Returns the arrows with paths. Each arrow between the same two boxes, or in a stack, has its own lane. */
const drawArrows = (arrows: readonly Arrow[], layout: Layout): readonly DrawnArrow[] => {
  const pair = ({ primary, secondary }: Arrow) => [primary, secondary].sort().join(' ')
  return arrows.flatMap((arrow, index) => {
    const from = layout.boxes.get(arrow.primary)
    const to = layout.boxes.get(arrow.secondary)
    if (!from || !to) return []
    const before = arrows.slice(0, index).filter((one) => layout.isStacked || pair(one) === pair(arrow))
    return { ...arrow, path: pathBetween(layout, from, to, before.length) }
  })
}

const Arrows = ({ arrows, layout }: { readonly arrows: readonly DrawnArrow[]; readonly layout: Layout }) => (
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
        d={arrow.path.line}
        marker-end={`url(#head-${arrow.state})`}
      />
    ))}
  </svg>
)

interface ArrowWordsProps extends Pick<PictureProps, 'onAsk'> {
  readonly arrow: DrawnArrow
  readonly layout: Layout
}

const ArrowWords = ({ arrow, layout, onAsk }: ArrowWordsProps) => {
  const { path, primary, secondary } = arrow
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
          what={`the ${KIND_WORDS[arrow.kind]} link from ${primary} to ${secondary}`}
          onClick={() =>
            onAsk({ key: `link ${primary} ${secondary}`, title: `Link between ${primary} and ${secondary}` })
          }
        />
      )}
    </div>
  )
}

/** An invisible button that covers the whole box or label. */
const Do = ({ what, onClick }: { readonly what: string; readonly onClick: () => void }) => (
  <button type="button" class="do" aria-label={`Actions for ${what}`} onClick={onClick}>
    <span aria-hidden="true">⋯</span>
  </button>
)

/** Maximum length of a cluster name in large type. Longer names have their own line in smaller type. */
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

interface ClusterBoxProps extends Pick<PictureProps, 'onAsk'> {
  readonly cluster: PageCluster
  readonly box: Box | undefined
  readonly lags: readonly Arrow[]
  readonly faults: PageSurvey['faults']
}

const ClusterBox = ({ cluster, box, lags, faults, onAsk }: ClusterBoxProps) => {
  if (!box) return null
  const { word, look } = clusterStatusOf(cluster)
  const wal = walOf(cluster)
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
        <NodeRow key={node.name} {...{ node, faults, onAsk }} />
      ))}
    </div>
  )
}

interface NodeRowProps extends Pick<ClusterBoxProps, 'faults' | 'onAsk'> {
  readonly node: PageNode
}

/** A node of a multi-node cluster. It is a button if actions are available. */
const NodeRow = ({ node, faults, onAsk }: NodeRowProps) => {
  const signs = nodeSignsOf(node.name, faults)
  const { word, look } = nodeStatusOf(node)
  const words = (
    <>
      <span class="sign" aria-hidden="true">
        {node.isActive ? '●' : look === 'away' ? '✗' : '○'}
      </span>
      <span class="node-name">{node.name}</span>
      <span class="word">{word}</span>
      {signs !== '' && <strong>{signs}</strong>}
    </>
  )
  const place = { class: `node ${look}`, 'data-node': node.name }
  const ask = () => onAsk?.({ key: `node ${node.name}`, title: `Node ${node.name}` })
  return onAsk ? (
    <button type="button" {...place} onClick={ask}>
      <span class="unseen">Actions for node </span>
      {words}
    </button>
  ) : (
    <div {...place} aria-hidden="true">
      {words}
    </div>
  )
}

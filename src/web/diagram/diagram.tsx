import { useMemo } from 'preact/hooks'
import type { PageCluster, PageNode, PageSurvey } from '../../lab/web/page-facts.js'
import type { OnAsk } from '../actions/lab-actions.js'
import {
  type Arrow,
  arrowsOf,
  detailOf,
  isSplit,
  KIND_WORDS,
  nodeSignsOf,
  nodeStatusOf,
  signsOf,
  clusterStatusOf,
  statusSignOf,
  walOf,
} from '../parts/words.js'
import { useBoxes } from './boxes.js'
import { placeClusters, stack } from './places.js'
import { cellStyle, drawRoutes, fits, gridStyle, planRoutes } from './routes.js'

interface DiagramProps {
  readonly survey: PageSurvey
  /** True if the shown data may be out of date. */
  readonly isStale: boolean
  readonly onAsk: OnAsk
}

/**
 * The topology diagram: clusters, and arrows from primaries to their secondaries. The browser lays out the clusters with their
 * labels, and then the arrows are drawn in the gaps. Screen readers get the table below the diagram, and only its buttons.
 */
export const Diagram = ({ survey, isStale, onAsk }: DiagramProps) => {
  const [element, { width, boxes }] = useBoxes()
  const names = survey.clusters.map(({ name }) => name)
  const planned = survey.planned.map(({ kind, primary, secondary }) => `${kind} ${primary} ${secondary}`)
  const places = useMemo(() => placeClusters(names, survey.planned), [planned.join('\n'), names.join('\n')])
  const arrows = arrowsOf(survey)
  const wide = planRoutes(places, arrows)
  const plan = fits(wide, width) ? wide : planRoutes(stack(places), arrows)
  return (
    <div class={`diagram ${isStale ? 'stale' : ''}`} ref={element}>
      {width > 0 && (
        <div class="stage" style={gridStyle(plan)}>
          <Arrows arrows={arrows} lines={drawRoutes(plan, boxes)} />
          {survey.clusters.map((cluster) => (
            <ClusterBox
              key={cluster.name}
              {...{ cluster, survey, onAsk }}
              style={cellStyle(plan, cluster.name)}
              arrows={arrows.filter(({ secondary }) => secondary === cluster.name)}
            />
          ))}
        </div>
      )}
    </div>
  )
}

interface ArrowsProps {
  readonly arrows: readonly Arrow[]
  readonly lines: ReadonlyMap<string, string>
}

const Arrows = ({ arrows, lines }: ArrowsProps) => (
  <svg aria-hidden="true">
    <defs>
      {(['well', 'working', 'cut', 'split'] as const).map((state) => (
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
          orient="auto-start-reverse"
        >
          <path d="M0 0 L12 6 L0 12 Z" />
        </marker>
      ))}
    </defs>
    {arrows.map(({ key, kind, state, primary, secondary }) => (
      <path
        key={key}
        class={`arrow ${kind} ${state}`}
        data-arrow={`${primary} ${kind} ${secondary}`}
        d={lines.get(key)}
        marker-start={state === 'split' ? 'url(#head-split)' : undefined}
        marker-end={`url(#head-${state})`}
      />
    ))}
  </svg>
)

interface LabelProps extends Pick<DiagramProps, 'onAsk'> {
  readonly arrow: Arrow
}

/** The label of an arrow, at its end. */
const Label = ({ arrow, onAsk }: LabelProps) => {
  const { key, kind, state, primary, secondary, lag, stateWords } = arrow
  const signs = signsOf(arrow)
  const ends = state === 'split' ? `split brain with ${primary}` : `from ${primary}`
  return (
    <div class={`words ${state}`} data-box={`link ${key}`}>
      <p aria-hidden="true">
        <span>
          <b>{KIND_WORDS[kind]}</b> {ends}
        </span>
        {[lag, stateWords].map((text) => text !== '' && <span key={text}>{text}</span>)}
        {signs !== '' && <strong>{signs}</strong>}
      </p>
      {onAsk && (
        <Do
          what={`the ${KIND_WORDS[kind]} link from ${primary} to ${secondary}`}
          onClick={() =>
            onAsk({ key: `link ${primary} ${secondary}`, title: `Link between ${primary} and ${secondary}` })
          }
        />
      )}
    </div>
  )
}

/** A button that covers the whole box or label. */
const Do = ({ what, onClick }: { readonly what: string; readonly onClick: () => void }) => (
  <button type="button" class="do" aria-label={`Actions for ${what}`} onClick={onClick}>
    <span aria-hidden="true">⋯</span>
  </button>
)

/** Maximum length of a cluster name in large type. */
const NAME_SHORT = 5

interface ClusterBoxProps extends Pick<DiagramProps, 'survey' | 'onAsk'> {
  readonly cluster: PageCluster
  readonly style: { readonly gridArea: string }
  /** The arrows that end at this cluster. */
  readonly arrows: readonly Arrow[]
}

const ClusterBox = ({ cluster, style, arrows, survey, onAsk }: ClusterBoxProps) => {
  const { name, apiAddress, nodes } = cluster
  const status = clusterStatusOf(cluster)
  const wal = walOf(cluster)
  const isInSplitBrain = isSplit(survey, name)
  return (
    <div
      class={`cluster ${status.look} ${isInSplitBrain ? 'split' : ''}`}
      style={style}
      data-box={`cluster ${name}`}
      data-cluster={name}
      data-status={status.word}
    >
      {arrows.map((arrow) => (
        <Label key={arrow.key} {...{ arrow, onAsk }} />
      ))}
      <div class="body">
        <div class="top">
          <span class={`name ${name.length > NAME_SHORT ? 'long' : ''}`} aria-hidden="true">
            {name}
          </span>
          <StatusWord {...status} />
          {onAsk && (
            <Do
              what={`cluster ${name}, ${status.word}`}
              onClick={() => onAsk({ key: `cluster ${name}`, title: `Cluster ${name}` })}
            />
          )}
        </div>
        <p class="facts" aria-hidden="true">
          {isInSplitBrain && <strong>! split brain</strong>}
          {[detailOf(cluster), wal === undefined ? '' : `WAL ${wal}`, apiAddress.replace(/^https?:\/\//, '')].map(
            (text) => text !== '' && <span key={text}>{text}</span>,
          )}
        </p>
        {nodes?.map((node) => (
          <NodeRow key={node.name} {...{ node, faults: survey.faults, onAsk }} />
        ))}
      </div>
    </div>
  )
}

const StatusWord = (status: { readonly word: string; readonly look: string }) => (
  <span class="word" aria-hidden="true">
    <span class="sign">{statusSignOf(status)}</span> {status.word}
  </span>
)

interface NodeRowProps extends Pick<DiagramProps, 'onAsk'>, Pick<PageSurvey, 'faults'> {
  readonly node: PageNode
}

/** A node of a multi-node cluster. It is a button if actions are available. */
const NodeRow = ({ node, faults, onAsk }: NodeRowProps) => {
  const signs = nodeSignsOf(node.name, faults)
  const status = nodeStatusOf(node)
  const words = (
    <>
      <span class="sign" aria-hidden="true">
        {statusSignOf(status) || (node.isActive ? '●' : '○')}
      </span>
      <span class="node-name">{node.name}</span>
      <span class="word">{status.word}</span>
      {signs !== '' && <strong>{signs}</strong>}
    </>
  )
  const attributes = { class: `node ${status.look}`, 'data-node': node.name, 'data-status': status.word }
  const ask = () => onAsk?.({ key: `node ${node.name}`, title: `Node ${node.name}` })
  return onAsk ? (
    <button type="button" {...attributes} onClick={ask}>
      <span class="unseen">Actions for node </span>
      {words}
    </button>
  ) : (
    <div {...attributes} aria-hidden="true">
      {words}
    </div>
  )
}

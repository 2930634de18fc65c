import { useMemo } from 'preact/hooks'
import type { PageCluster, PageNode, PageSurvey } from '../../lab/web/page-facts.js'
import type { OpenActions } from '../actions/lab-actions.js'
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
  readonly openActions: OpenActions
}

/**
 * The topology diagram: clusters, and arrows from primaries to their secondaries. The browser lays out the clusters and
 * the labels; then the arrows are drawn in the gaps. Screen readers get the buttons of the diagram, and the table below
 * it.
 */
export const Diagram = ({ survey, isStale, openActions }: DiagramProps) => {
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
              {...{ cluster, survey, openActions }}
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

interface LabelProps extends Pick<DiagramProps, 'openActions'> {
  readonly arrow: Arrow
}

/** The label of an arrow, at its end. */
const Label = ({ arrow, openActions }: LabelProps) => {
  const { key, kind, state, primary, secondary, lag, stateText } = arrow
  const signs = signsOf(arrow.faults)
  const ends = state === 'split' ? `split brain with ${primary}` : `from ${primary}`
  return (
    <div class={`words ${state}`} data-box={`link ${key}`}>
      <p aria-hidden="true">
        <span>
          <b>{KIND_WORDS[kind]}</b> {ends}
        </span>
        {[lag, stateText].map((text) => text !== '' && <span key={text}>{text}</span>)}
        {signs !== '' && <strong>{signs}</strong>}
      </p>
      {openActions && (
        <ActionsButton
          what={`the ${KIND_WORDS[kind]} link from ${primary} to ${secondary}`}
          onClick={() =>
            openActions({ key: `link ${primary} ${secondary}`, title: `Link between ${primary} and ${secondary}` })
          }
        />
      )}
    </div>
  )
}

/** The button for the actions of a cluster or link. It covers its whole box or label. */
const ActionsButton = ({ what, onClick }: { readonly what: string; readonly onClick: () => void }) => (
  <button type="button" class="do" aria-label={`Actions for ${what}`} onClick={onClick}>
    <span aria-hidden="true">⋯</span>
  </button>
)

/** Maximum length of a cluster name that is shown in large type. */
const LARGE_NAME_LENGTH_MAX = 5

interface ClusterBoxProps extends Pick<DiagramProps, 'survey' | 'openActions'> {
  readonly cluster: PageCluster
  readonly style: { readonly gridArea: string }
  /** The arrows that end at this cluster. */
  readonly arrows: readonly Arrow[]
}

const ClusterBox = ({ cluster, style, arrows, survey, openActions }: ClusterBoxProps) => {
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
        <Label key={arrow.key} {...{ arrow, openActions }} />
      ))}
      <div class="body">
        <div class="top">
          <span class={`name ${name.length > LARGE_NAME_LENGTH_MAX ? 'long' : ''}`} aria-hidden="true">
            {name}
          </span>
          <StatusWord {...status} />
          {openActions && (
            <ActionsButton
              what={`cluster ${name}, ${status.word}`}
              onClick={() => openActions({ key: `cluster ${name}`, title: `Cluster ${name}` })}
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
          <NodeRow key={node.name} {...{ node, faults: survey.faults, openActions }} />
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

interface NodeRowProps extends Pick<DiagramProps, 'openActions'>, Pick<PageSurvey, 'faults'> {
  readonly node: PageNode
}

/** A node of a multi-node cluster. It is a button if actions are available. */
const NodeRow = ({ node, faults, openActions }: NodeRowProps) => {
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
  const ask = () => openActions?.({ key: `node ${node.name}`, title: `Node ${node.name}` })
  return openActions ? (
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

import type { PageNode } from '../../lab/web/page-facts.js'
import type { OnAsk } from '../actions/lab-actions.js'
import { nodeStandingOf } from '../parts/words.js'

interface NodeRowProps {
  readonly node: PageNode
  readonly signs: string
  readonly onAsk: OnAsk
}

/** One of several servers of a cluster. It is a button if actions are available. */
export const NodeRow = ({ node, signs, onAsk }: NodeRowProps) => {
  const { word, look } = nodeStandingOf(node)
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
  if (!onAsk)
    return (
      <div {...place} aria-hidden="true">
        {words}
      </div>
    )
  return (
    <button type="button" {...place} onClick={() => onAsk({ key: `node ${node.name}`, title: `Node ${node.name}` })}>
      <span class="unseen">do something to node </span>
      {words}
    </button>
  )
}

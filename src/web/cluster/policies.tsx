import { ActButton } from './act-button.js'
import { Browse } from './browse.js'
import { get, list, partOf, textOf } from './call.js'
import { changePolicy, deletePolicy, NEW_POLICY } from './core-acts.js'
import { useRead } from './means.js'

const POLICIES = 'sys/policies/acl'

/** The policies of tokens. */
export const Policies = () => (
  <Browse
    title="Policies"
    call={list(POLICIES)}
    acts={(again) => <ActButton act={NEW_POLICY} onDone={again} />}
    detail={(name, onGone) => <Policy name={name} onGone={onGone} />}
  />
)

const Policy = ({ name, onGone }: { readonly name: string; readonly onGone: () => void }) => {
  const { value, error, again } = useRead(get(`${POLICIES}/${name}`))
  if (!value) return <p class={error === '' ? 'nothing' : 'error'}>{error || 'asking …'}</p>
  const text = textOf(partOf(value, 'data'), 'policy')
  return (
    <>
      {name === 'root' ? <p>It allows everything.</p> : <code class="text">{text}</code>}
      {name !== 'root' && (
        <p class="acts">
          <ActButton act={changePolicy(name, text)} onDone={again} />
          {name !== 'default' && <ActButton act={deletePolicy(name)} onDone={onGone} />}
        </p>
      )}
    </>
  )
}

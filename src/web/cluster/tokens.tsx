import { ActButton } from './act-button.js'
import { Browse, Facts } from './browse.js'
import { type Call, list } from './call.js'
import { NEW_TOKEN, revokeToken } from './core-acts.js'

const lookUp = (accessor: string): Call => ({
  method: 'POST',
  path: 'auth/token/lookup-accessor',
  body: JSON.stringify({ accessor }),
})

/** The tokens of this cluster by accessor. Shows their properties, but not the tokens. */
export const Tokens = () => (
  <Browse
    title="Tokens, by accessor"
    call={list('auth/token/accessors')}
    acts={(again) => <ActButton act={NEW_TOKEN} onDone={again} />}
    detail={(accessor, onGone) => (
      <>
        <Facts call={lookUp(accessor)} />
        <p class="acts">
          <ActButton act={revokeToken(accessor)} onDone={onGone} />
        </p>
      </>
    )}
  />
)

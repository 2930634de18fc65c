import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Answer } from '../actions/dialog.js'
import { OneInput } from '../actions/field-input.js'
import { get, type Json, textOf } from '../parts/api.js'
import { Pending } from '../parts/table.js'
import { ActButton, LOOK_MS, useCluster, useRead } from './context.js'
import { INITIALISE } from './core-acts.js'

/** Shows its children if the cluster is initialized and unsealed; otherwise, forms to initialize or unseal it. */
export const Gate = ({ children }: { readonly children: ComponentChildren }) => {
  const { value: status, error, again } = useRead(get('sys/seal-status'), LOOK_MS)
  const { ask, canWrite } = useCluster()
  const [made, setMade] = useState<Json | undefined>()
  if (made)
    return (
      <section class="gate" aria-label="Keys of this cluster">
        <h3>Store these values: they are shown only once</h3>
        <Answer answer={made} onClose={() => setMade(undefined)} />
      </section>
    )
  if (!status) return <Pending error={error} />
  if (status.initialized === false)
    return (
      <section class="gate" aria-label="New cluster">
        <p class="said">This cluster is not initialized.</p>
        <p class="acts">
          <ActButton
            act={INITIALISE}
            onDone={(answer) => {
              setMade(answer)
              again()
            }}
          />
        </p>
      </section>
    )
  const unseal = async (key: string) => {
    await ask({ method: 'POST', path: 'sys/unseal', body: JSON.stringify({ key }) }).finally(again)
  }
  if (status.sealed !== true) return <>{children}</>
  return (
    <section class="gate" aria-label="Sealed cluster">
      <p
        role="status"
        class="said"
      >{`This cluster is sealed: ${textOf(status, 'progress')} of ${textOf(status, 't')} key shares are submitted.`}</p>
      {canWrite && <OneInput kind="secret" label="Key share" button="Unseal" onSubmit={unseal} />}
    </section>
  )
}

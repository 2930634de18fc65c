import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { ResponseView } from '../actions/dialog.js'
import { OneInput } from '../actions/field-input.js'
import { get, type Json, textOf } from '../parts/api.js'
import { Pending } from '../parts/table.js'
import { ActionButton, STATUS_INTERVAL_MS, useCluster, useRead } from './context.js'
import { INITIALIZE } from './core-actions.js'

/** Shows its children if the cluster is initialized and unsealed. Otherwise, shows a form for the missing step. */
export const Gate = ({ children }: { readonly children: ComponentChildren }) => {
  const { value: status, error, reload } = useRead(get('sys/seal-status'), STATUS_INTERVAL_MS)
  const { ask, canWrite } = useCluster()
  const [newKeys, setNewKeys] = useState<Json | undefined>()
  if (newKeys)
    return (
      <section class="gate" aria-label="Keys of this cluster">
        <h3>Store these values: they are shown only once</h3>
        <ResponseView response={newKeys} onClose={() => setNewKeys(undefined)} />
      </section>
    )
  if (!status) return <Pending error={error} />
  if (status.initialized === false)
    return (
      <section class="gate" aria-label="New cluster">
        <p class="said">This cluster is not initialized.</p>
        <p class="acts">
          <ActionButton
            action={INITIALIZE}
            onDone={(response) => {
              setNewKeys(response)
              reload()
            }}
          />
        </p>
      </section>
    )
  const unseal = async (key: string) => {
    await ask({ method: 'POST', path: 'sys/unseal', body: JSON.stringify({ key }) }).finally(reload)
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

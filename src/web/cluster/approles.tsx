import { useState } from 'preact/hooks'
import { Copy } from '../parts/copy.js'
import { ActButton } from './act-button.js'
import { Browse, Facts } from './browse.js'
import { get, type Json, keysOf, list, partOf, textOf } from './call.js'
import { deleteRole, destroySecretId, generateSecretId, newRole } from './core-acts.js'
import { useRead } from './means.js'

/** Roles of the AppRole auth method on all its mounts. */
export const AppRoles = () => {
  const { value, error } = useRead(get('sys/internal/ui/mounts'))
  const [chosen, setChosen] = useState('')
  if (!value) return <p class={error === '' ? 'nothing' : 'error'}>{error || 'asking …'}</p>
  const methods = Object.entries(partOf(partOf(value, 'data'), 'auth'))
  const mounts = methods.flatMap(([path, facts]) => (textOf(facts as Json, 'type') === 'approle' ? [path] : []))
  const mount = mounts.find((path) => path === chosen) ?? mounts[0]
  if (mount === undefined) return <p class="nothing">AppRole is not enabled: that is done with the mounts.</p>
  return (
    <>
      {mounts.length > 1 && (
        <label class="field">
          <span>Mounted at</span>
          <select value={mount} onChange={({ currentTarget }) => setChosen(currentTarget.value)}>
            {mounts.map((path) => (
              <option key={path} value={path}>
                {path}
              </option>
            ))}
          </select>
        </label>
      )}
      <Browse
        key={mount}
        title="Roles"
        call={list(`auth/${mount}role`)}
        acts={(again) => <ActButton act={newRole(mount)} onDone={again} />}
        detail={(name, onGone) => <Role role={`auth/${mount}role/${name}`} onGone={onGone} />}
      />
    </>
  )
}

const Role = ({ role, onGone }: { readonly role: string; readonly onGone: () => void }) => {
  const { value, error } = useRead(get(`${role}/role-id`))
  const secretIds = useRead(list(`${role}/secret-id`))
  const roleId = value ? textOf(partOf(value, 'data'), 'role_id') : ''
  return (
    <>
      <dl class="facts">
        <div>
          <dt>RoleID</dt>
          <dd class="secret">
            <code data-fact="role-id">{roleId}</code>
            {roleId !== '' && <Copy command={roleId} what="RoleID" />}
          </dd>
        </div>
      </dl>
      {error !== '' && <p class="error">{error}</p>}
      <Facts call={get(role)} />
      <p class="acts">
        <ActButton act={generateSecretId(role)} onDone={secretIds.again} />
        <ActButton act={deleteRole(role)} onDone={onGone} />
      </p>
      <h4>SecretIDs, by accessor</h4>
      {secretIds.error !== '' && <p class="error">{secretIds.error}</p>}
      <ul class="keys">
        {(secretIds.value ? keysOf(secretIds.value) : []).map((accessor) => (
          <li key={accessor} class="acts">
            <code>{accessor}</code>
            <ActButton act={destroySecretId(role, accessor)} of={accessor} onDone={secretIds.again} />
          </li>
        ))}
      </ul>
    </>
  )
}

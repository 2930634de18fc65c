import { field } from '../actions/action.js'
import { FieldInput } from '../actions/field-input.js'
import { get, type Json, keysOf, list, partOf, textOf } from '../parts/api.js'
import { Facts, Pending, Table } from '../parts/table.js'
import { CopyableValue } from '../parts/text.js'
import { AuditTail } from './audit-tail.js'
import { Browse, CallFacts } from './browse.js'
import { ActionButton, useCluster, useRead } from './context.js'
import * as actions from './core-actions.js'

/** Mounts that cannot be disabled. */
const FIXED: ReadonlySet<string> = new Set(['sys/', 'cubbyhole/', 'identity/', 'token/'])

const MOUNTS = 'sys/internal/ui/mounts'
const MOUNT_TABLES = [
  { caption: 'Secrets engines', part: 'secret', root: 'sys/mounts' },
  { caption: 'Auth methods', part: 'auth', root: 'sys/auth' },
] as const

/** Returns the objects inside the data of a response. */
const rowsOf = (data: Json): readonly [string, Json][] => Object.entries(data) as [string, Json][]

/** The secrets engines and auth methods that the token may see. */
export const Mounts = () => {
  const { value, error, reload } = useRead(get(MOUNTS))
  if (!value) return <Pending error={error} />
  return (
    <div class="gate">
      {MOUNT_TABLES.map(({ caption, part, root }) => (
        <Table
          key={part}
          caption={caption}
          heads={['Path', 'Type', 'Version', 'Replicated', 'Description']}
          rows={rowsOf(partOf(partOf(value, 'data'), part)).map(([path, facts]) => ({
            cells: [
              path,
              textOf(facts, 'type'),
              textOf(partOf(facts, 'options'), 'version'),
              facts.local === true ? 'no, local' : 'yes',
              textOf(facts, 'description'),
            ],
            actions: !FIXED.has(path) && (
              <ActionButton action={actions.disableAction(root, path)} of={path} onDone={reload} />
            ),
          }))}
        />
      ))}
      <p class="acts">
        {actions.MOUNT_ACTIONS.map((action) => (
          <ActionButton key={action.label} action={action} onDone={reload} />
        ))}
      </p>
    </div>
  )
}

export const Policies = () => (
  <Browse
    title="Policies"
    call={list(actions.POLICIES)}
    empty='No policies. Create one with "New policy".'
    actions={(reload) => <ActionButton action={actions.NEW_POLICY} onDone={reload} />}
    detail={(name, onGone) => <Policy name={name} onGone={onGone} />}
  />
)

const Policy = ({ name, onGone }: { readonly name: string; readonly onGone: () => void }) => {
  const { value, error, reload } = useRead(get(`${actions.POLICIES}/${name}`))
  if (!value) return <Pending error={error} />
  const text = textOf(partOf(value, 'data'), 'policy')
  if (name === 'root') return <p>The root policy allows everything.</p>
  return (
    <>
      <code class="text">{text}</code>
      <p class="acts">
        <ActionButton action={actions.changePolicy(name, text)} onDone={reload} />
        {name !== 'default' && <ActionButton action={actions.deletePolicy(name)} onDone={onGone} />}
      </p>
    </>
  )
}

/** Roles of the AppRole auth method on all its mounts. */
export const AppRoles = () => {
  const { value, error } = useRead(get(MOUNTS))
  const { item, openItem } = useCluster()
  if (!value) return <Pending error={error} />
  const methods = rowsOf(partOf(partOf(value, 'data'), 'auth'))
  const mounts = methods.flatMap(([path, facts]) => (textOf(facts, 'type') === 'approle' ? [path] : []))
  const mount = mounts.find((path) => item.startsWith(path)) ?? mounts[0]
  if (mount === undefined) return <p class="nothing">AppRole is not enabled. Enable it under Mounts.</p>
  return (
    <>
      {mounts.length > 1 && (
        <FieldInput
          field={field('choice', 'mount', 'Mount path', { choices: mounts })}
          value={mount}
          onChange={openItem}
        />
      )}
      <Browse
        key={mount}
        title="Roles"
        call={list(`auth/${mount}role`)}
        empty='No roles. Create one with "New role".'
        within={mount}
        actions={(reload) => <ActionButton action={actions.newRole(mount)} onDone={reload} />}
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
      <Facts facts={[['RoleID', <CopyableValue what="RoleID" value={roleId} fact="role-id" />]]} />
      {error !== '' && <p class="error">{error}</p>}
      <CallFacts call={get(role)} />
      <p class="acts">
        <ActionButton action={actions.generateSecretId(role)} onDone={secretIds.reload} />
        <ActionButton action={actions.deleteRole(role)} onDone={onGone} />
      </p>
      <h4>SecretIDs, by accessor</h4>
      {secretIds.error !== '' && <p class="error">{secretIds.error}</p>}
      {secretIds.value && keysOf(secretIds.value).length === 0 && (
        <p class="nothing">No SecretIDs. Create one with "Generate a SecretID".</p>
      )}
      <ul class="keys">
        {(secretIds.value ? keysOf(secretIds.value) : []).map((accessor) => (
          <li key={accessor} class="acts">
            <code>{accessor}</code>
            <ActionButton action={actions.destroySecretId(role, accessor)} of={accessor} onDone={secretIds.reload} />
          </li>
        ))}
      </ul>
    </>
  )
}

/** The tokens of this cluster by accessor. Shows their properties, but not the tokens. */
export const Tokens = () => (
  <Browse
    title="Tokens, by accessor"
    call={list('auth/token/accessors')}
    empty='No tokens. Create one with "New token".'
    actions={(reload) => <ActionButton action={actions.NEW_TOKEN} onDone={reload} />}
    detail={(accessor, onGone) => (
      <>
        <CallFacts call={{ method: 'POST', path: 'auth/token/lookup-accessor', body: JSON.stringify({ accessor }) }} />
        <p class="acts">
          <ActionButton action={actions.revokeToken(accessor)} onDone={onGone} />
        </p>
      </>
    )}
  />
)

/** The audit devices and the latest audit entries. */
export const Audit = () => {
  const { value, error, reload } = useRead(get('sys/audit'))
  if (!value) return <Pending error={error} />
  const devices = rowsOf(partOf(value, 'data'))
  return (
    <div class="gate">
      {devices.length === 0 && <p class="nothing">No audit device is enabled. Add one with "Enable a file device".</p>}
      {devices.length > 0 && (
        <Table
          caption="Audit devices"
          heads={['Path', 'Type', 'File', 'Description']}
          rows={devices.map(([path, device]) => ({
            cells: [
              path,
              textOf(device, 'type'),
              textOf(partOf(device, 'options'), 'file_path'),
              textOf(device, 'description'),
            ],
            actions: <ActionButton action={actions.disableAudit(path)} of={path} onDone={reload} />,
          }))}
        />
      )}
      {devices.length > 0 && <AuditTail />}
      <p class="acts">
        <ActionButton action={actions.NEW_AUDIT} onDone={reload} />
      </p>
    </div>
  )
}

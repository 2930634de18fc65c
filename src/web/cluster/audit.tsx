import { AuditTail } from './audit-tail.js'
import { ActButton } from './act-button.js'
import { get, type Json, partOf, textOf } from './call.js'
import { disableAudit, NEW_AUDIT } from './core-acts.js'
import { useRead } from './means.js'
import { Table } from './table.js'

/** Shows the audit devices and the latest audit entries. */
export const Audit = () => {
  const { value, error, again } = useRead(get('sys/audit'))
  if (!value) return <p class={error === '' ? 'nothing' : 'error'}>{error || 'asking …'}</p>
  const devices = Object.entries(partOf(value, 'data'))
  return (
    <div class="gate">
      {devices.length === 0 && <p class="nothing">No requests are written down.</p>}
      {devices.length > 0 && (
        <Table caption="Audit devices" heads={['path', 'type', 'file', 'description']} hasActs>
          {devices.map(([path, device]) => (
            <tr key={path}>
              <th scope="row">{path}</th>
              <td>{textOf(device as Json, 'type')}</td>
              <td>{textOf(partOf(device as Json, 'options'), 'file_path')}</td>
              <td>{textOf(device as Json, 'description')}</td>
              <td class="acts">
                <ActButton act={disableAudit(path)} of={path} onDone={again} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {devices.length > 0 && <AuditTail />}
      <p class="acts">
        <ActButton act={NEW_AUDIT} onDone={again} />
      </p>
    </div>
  )
}

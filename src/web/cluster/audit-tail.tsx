import { useMemo, useState } from 'preact/hooks'
import { type Call, listOf } from '../parts/api.js'
import { Button, Search } from '../parts/inputs.js'
import { Heads, Pending, Wide } from '../parts/table.js'
import { TIME, ZONE } from '../parts/times.js'
import { type AuditLine, auditLinesOf, findLines } from './audit-lines.js'
import { useRead } from './context.js'

const NEWEST: Call = { method: 'GET', path: 'audit', isOwn: true }

const HEADS = [`Time (${ZONE})`, 'Type', 'Operation', 'Path', 'User', 'Error', 'Device']

/** The latest audit entries. Not loaded again automatically, because each request adds an entry. */
export const AuditTail = () => {
  const { value, error, reload } = useRead(NEWEST)
  const [wanted, setWanted] = useState('')
  const lines = useMemo(() => auditLinesOf(value ?? {}), [value])
  const found = findLines(lines, wanted)
  if (!value) return <Pending error={error} />
  if (value.kept === undefined)
    return <p class="nothing">This server does not provide its audit log. Set lab_api or ui in its configuration.</p>
  if (listOf(value, 'kept').length === 0)
    return (
      <p class="nothing">
        The audit devices write entries without hashing (log_raw), or discard them. To see entries here, enable a file
        device without log_raw.
      </p>
    )
  const caption = `Latest audit entries of this server, newest first: ${found.length}`
  return (
    <section class="audit-tail" aria-label="Latest audit entries">
      <div class="where">
        <Search label="Filter" value={wanted} onSearch={setWanted} />
        <Button label="Refresh" onClick={reload} />
      </div>
      {error !== '' && <p class="error">{error}</p>}
      {found.length === 0 && (
        <p class="nothing">
          {lines.length === 0
            ? 'No entries yet. Send a request to this cluster, then refresh.'
            : 'No entry matches the filter. Clear the filter.'}
        </p>
      )}
      {found.length > 0 && (
        <Wide caption={caption}>
          <table>
            <caption>{caption}</caption>
            <Heads heads={HEADS} hasActions />
            <tbody>
              {found.map((line) => (
                <Line key={`${line.device} ${line.text}`} line={line} />
              ))}
            </tbody>
          </table>
        </Wide>
      )}
    </section>
  )
}

const Line = ({ line }: { readonly line: AuditLine }) => {
  const [isShown, setShown] = useState(false)
  const { atMs, type, operation, path, user, error, device, text } = line
  return (
    <>
      <tr>
        {[atMs === undefined ? '' : TIME.format(atMs), type, operation, path, user, error, device].map(
          (cell, index) => (
            <td key={index} data-head={HEADS[index]}>
              {cell}
            </td>
          ),
        )}
        <td class="acts">
          <button type="button" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
            {isShown ? 'Hide' : 'Show'}
            <span class="unseen">{` entry ${line.index}`}</span>
          </button>
        </td>
      </tr>
      {isShown && (
        <tr>
          <td colSpan={HEADS.length + 1}>
            <code class="text">{text}</code>
          </td>
        </tr>
      )}
    </>
  )
}

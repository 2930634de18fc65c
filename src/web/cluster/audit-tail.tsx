import { useMemo, useState } from 'preact/hooks'
import { type Call, listOf } from '../parts/api.js'
import { Button, Search } from '../parts/inputs.js'
import { Heads, Pending, Wide } from '../parts/table.js'
import { TIME, ZONE } from '../parts/text.js'
import { type AuditLine, auditLinesOf, findLines } from './audit-lines.js'
import { useRead } from './context.js'

const NEWEST: Call = { method: 'GET', path: 'audit', isOwn: true }

const HEADS = [`time, ${ZONE}`, 'what', 'operation', 'path', 'who', 'error', 'device']

/** Shows the latest audit entries. They are loaded only on request, because each load adds an entry. */
export const AuditTail = () => {
  const { value, error, again } = useRead(NEWEST)
  const [wanted, setWanted] = useState('')
  const lines = useMemo(() => auditLinesOf(value ?? {}), [value])
  const found = findLines(lines, wanted)
  if (!value) return <Pending error={error} />
  if (value.kept === undefined) return <p class="nothing">This server does not tell what was written.</p>
  if (listOf(value, 'kept').length === 0)
    return <p class="nothing">What is written in the clear, or to nowhere, is not shown here.</p>
  const caption = `Written last by this server, newest first: ${found.length}`
  return (
    <section class="audit-tail" aria-label="what was written last">
      <div class="where">
        <Search label="only lines with" value={wanted} onSearch={setWanted} />
        <Button label="Look again" onClick={again} />
      </div>
      {error !== '' && <p class="error">{error}</p>}
      {found.length === 0 && <p class="nothing">{lines.length === 0 ? 'Nothing yet.' : 'No line has that.'}</p>}
      {found.length > 0 && (
        <Wide caption={caption}>
          <table>
            <caption>{caption}</caption>
            <Heads heads={HEADS} hasActs />
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
  const { atMs, type, operation, path, who, error, device, text } = line
  return (
    <>
      <tr>
        {[atMs === undefined ? '' : TIME.format(atMs), type, operation, path, who, error, device].map((cell, index) => (
          <td key={index}>{cell}</td>
        ))}
        <td class="acts">
          <button type="button" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
            {isShown ? 'Hide' : 'Whole'}
            <span class="unseen">{` line ${line.place}`}</span>
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

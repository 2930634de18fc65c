import { ActButton } from './act-button.js'
import { get, type Json, partOf, textOf } from './call.js'
import { disableAct, MOUNT_ACTS } from './core-acts.js'
import { useRead } from './means.js'
import { Table } from './table.js'

/** Mounts that cannot be disabled. */
const FIXED: ReadonlySet<string> = new Set(['sys/', 'cubbyhole/', 'identity/', 'token/'])

const PLACES = [
  { caption: 'Secret engines', part: 'secret', root: 'sys/mounts' },
  { caption: 'Auth methods', part: 'auth', root: 'sys/auth' },
] as const

/** The secret engines and auth methods that the token may see. */
export const Mounts = () => {
  const { value, error, again } = useRead(get('sys/internal/ui/mounts'))
  if (!value) return <p class={error === '' ? 'nothing' : 'error'}>{error || 'asking …'}</p>
  return (
    <div class="gate">
      {PLACES.map(({ caption, part, root }) => (
        <Table key={part} caption={caption} heads={['path', 'type', 'version', 'replicated', 'description']} hasActs>
          {Object.entries(partOf(partOf(value, 'data'), part)).map(([path, facts]) => (
            <Mount key={path} path={path} facts={facts as Json} root={root} onDone={again} />
          ))}
        </Table>
      ))}
      <p class="acts">
        {MOUNT_ACTS.map((act) => (
          <ActButton key={act.label} act={act} onDone={again} />
        ))}
      </p>
    </div>
  )
}

interface MountProps {
  readonly path: string
  readonly facts: Json
  readonly root: 'sys/mounts' | 'sys/auth'
  readonly onDone: () => void
}

const Mount = ({ path, facts, root, onDone }: MountProps) => (
  <tr>
    <th scope="row">{path}</th>
    <td>{textOf(facts, 'type')}</td>
    <td>{textOf(partOf(facts, 'options'), 'version')}</td>
    <td>{facts.local === true ? 'no, local' : 'yes'}</td>
    <td>{textOf(facts, 'description')}</td>
    <td class="acts">{!FIXED.has(path) && <ActButton act={disableAct(root, path)} of={path} onDone={onDone} />}</td>
  </tr>
)

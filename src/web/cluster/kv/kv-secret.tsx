import { useState } from 'preact/hooks'
import { ActButton } from '../act-button.js'
import { At } from '../at.js'
import { type Json, partOf, textOf } from '../call.js'
import { useRead } from '../means.js'
import { Table } from '../table.js'
import { Secret } from '../secret.js'
import {
  changeAct,
  deleteAct,
  type KvMount,
  type KvVersion,
  metadataCall,
  readCall,
  valuesOf,
  versionActs,
  versionsOf,
} from './kv-acts.js'

interface KvSecretProps {
  readonly mount: KvMount
  readonly name: string
}

export const KvSecret = ({ mount, name }: KvSecretProps) => {
  const [version, setVersion] = useState(0)
  const data = useRead(readCall(mount, name, version))
  const metadata = useRead(mount.version === 2 ? metadataCall(mount, name) : undefined)
  const refresh = () => {
    data.again()
    metadata.again()
  }
  const values = data.value && valuesOf(mount, data.value)
  const shown = Number(textOf(partOf(partOf(data.value ?? {}, 'data'), 'metadata'), 'version'))
  // Without permission to read metadata, the newest version that was read is replaced.
  const current = Number(textOf(partOf(metadata.value ?? {}, 'data'), 'current_version')) || shown
  return (
    <section class="secret-view" aria-labelledby="secret-title" data-version={shown || undefined}>
      <h3 id="secret-title">
        {name}
        {mount.version === 2 && shown > 0 && <span class="of"> version {shown}</span>}
      </h3>
      {data.error !== '' && <p class="error">{data.error}</p>}
      {data.value && (values ? <Values values={values} /> : <p class="nothing">It has no values.</p>)}
      <p class="acts">
        <ActButton
          act={changeAct(mount, name, values ?? {}, current)}
          onDone={() => {
            setVersion(0)
            refresh()
          }}
        />
        <ActButton act={deleteAct(mount, name)} onDone={refresh} />
      </p>
      {metadata.value && (
        <Versions
          {...{ mount, name, shown }}
          versions={versionsOf(metadata.value)}
          onShow={setVersion}
          onDone={refresh}
        />
      )}
      {metadata.error !== '' && <p class="error">{`its versions: ${metadata.error}`}</p>}
    </section>
  )
}

const Values = ({ values }: { readonly values: Json }) => (
  <dl class="facts">
    {Object.keys(values).map((key) => (
      <div key={key}>
        <dt>{key}</dt>
        <dd>
          <Secret what={key} value={typeof values[key] === 'string' ? values[key] : JSON.stringify(values[key])} />
        </dd>
      </div>
    ))}
  </dl>
)

interface VersionsProps extends KvSecretProps {
  readonly shown: number
  readonly versions: readonly KvVersion[]
  readonly onShow: (version: number) => void
  readonly onDone: () => void
}

const Versions = ({ mount, name, shown, versions, onShow, onDone }: VersionsProps) => (
  <Table caption="Versions" heads={['version', 'written', 'state']} hasActs>
    {versions.map((one) => (
      <tr key={one.version} data-state={one.state} aria-current={one.version === shown ? 'true' : undefined}>
        <th scope="row">{one.version}</th>
        <td>
          <At time={one.created} />
        </td>
        <td>{one.state}</td>
        <td class="acts">
          <button type="button" aria-label={`Show version ${one.version}`} onClick={() => onShow(one.version)}>
            Show
          </button>
          {versionActs(mount, name, one).map((act) => (
            <ActButton key={act.label} act={act} of={`version ${one.version}`} onDone={onDone} />
          ))}
        </td>
      </tr>
    ))}
  </Table>
)

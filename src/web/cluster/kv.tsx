import { useState } from 'preact/hooks'
import { field } from '../actions/action.js'
import { FieldInput, OneInput } from '../actions/field-input.js'
import { get, type Json, keysOf, partOf, textOf } from '../parts/api.js'
import { Button } from '../parts/inputs.js'
import { Facts, Pending, Table } from '../parts/table.js'
import { LocalTime, Secret } from '../parts/text.js'
import { Keys } from './browse.js'
import { ActionButton, useCluster, useRead } from './context.js'
import * as actions from './kv-actions.js'
import type { KvMount } from './kv-actions.js'

/** The secrets of the key/value engines, one folder at a time. */
export const Kv = () => {
  const { value, error } = useRead(get('sys/internal/ui/mounts'))
  const { item, openItem } = useCluster()
  if (!value) return <Pending error={error} />
  const mounts = actions.kvMountsOf(value)
  const mount = mounts.find(({ path }) => item.startsWith(path)) ?? mounts[0]
  if (!mount)
    return (
      <p class="nothing">
        This token has access to no key/value engine. Enable one under Mounts, or sign in with another token.
      </p>
    )
  const path = item.startsWith(mount.path) ? item.slice(mount.path.length) : ''
  const folder = path.slice(0, path.lastIndexOf('/') + 1)
  return (
    <div class="kv">
      <section aria-label="Secrets">
        <FieldInput
          field={field('choice', 'mount', 'Engine', {
            choices: mounts.map((one) => [one.path, `${one.path} (version ${one.version})`] as const),
          })}
          value={mount.path}
          onChange={openItem}
        />
        <Folder key={mount.path + folder} {...{ mount, folder }} current={path.slice(folder.length)} />
      </section>
      {path !== folder && <KvSecret key={mount.path + path} mount={mount} name={path} />}
    </div>
  )
}

interface FolderProps {
  readonly mount: KvMount
  /** Ends with a slash, or is empty. */
  readonly folder: string
  /** The name of the open secret below the folder. */
  readonly current: string
}

const parentOf = (folder: string): string => folder.replace(/[^/]*\/$/, '')

const Folder = ({ mount, folder, current }: FolderProps) => {
  const { openItem } = useCluster()
  const { value, error, reload } = useRead(actions.listCall(mount, folder))
  const keys = value ? keysOf(value) : []
  const go = (path: string) => openItem(mount.path + path)
  return (
    <>
      <p class="where">
        <code>{mount.path + folder}</code>
        {folder !== '' && <Button label="Up" onClick={() => go(parentOf(folder))} />}
        <Button label="Refresh" onClick={reload} />
      </p>
      {error !== '' && <p class="error">{error}</p>}
      {value && keys.length === 0 && <p class="nothing">This folder has no secrets. Create one with "New secret".</p>}
      <Keys keys={keys} current={current} onOpen={(key) => go(folder + key)} />
      {/* A token may permit reading a secret but not listing its folder. */}
      <OneInput kind="text" label="Name" button="Open" onSubmit={async (name) => go(folder + name)} />
      <p class="acts">
        <ActionButton action={actions.newAction(mount, folder)} onDone={reload} />
      </p>
    </>
  )
}

interface KvSecretProps {
  readonly mount: KvMount
  readonly name: string
}

const KvSecret = ({ mount, name }: KvSecretProps) => {
  const [version, setVersion] = useState(0)
  const data = useRead(actions.readCall(mount, name, version))
  const metadata = useRead(mount.version === 2 ? actions.metadataCall(mount, name) : undefined)
  const refresh = () => {
    data.reload()
    metadata.reload()
  }
  const values = data.value && actions.valuesOf(mount, data.value)
  const shown = Number(textOf(partOf(partOf(data.value ?? {}, 'data'), 'metadata'), 'version'))
  // Without permission to read the metadata, the shown version counts as the newest one.
  const current = Number(textOf(partOf(metadata.value ?? {}, 'data'), 'current_version')) || shown
  return (
    <section class="secret-view" aria-labelledby="secret-title" data-version={shown || undefined}>
      <h3 id="secret-title">
        {name}
        {mount.version === 2 && shown > 0 && <span class="of"> version {shown}</span>}
      </h3>
      {data.error !== '' && <p class="error">{data.error}</p>}
      {data.value &&
        (values ? (
          <Facts facts={secretsOf(values)} />
        ) : (
          <p class="nothing">This version has no values. Show another version, or undelete it.</p>
        ))}
      <p class="acts">
        <ActionButton
          action={actions.changeAction(mount, name, values ?? {}, current)}
          onDone={() => {
            setVersion(0)
            refresh()
          }}
        />
        <ActionButton action={actions.deleteAction(mount, name)} onDone={refresh} />
      </p>
      {metadata.value && (
        <Table
          caption="Versions"
          heads={['Version', 'Created', 'State']}
          rows={actions.versionsOf(metadata.value).map((one) => ({
            attributes: { 'data-state': one.state, 'aria-current': one.version === shown ? 'true' : undefined },
            cells: [one.version, <LocalTime time={one.created} />, one.state],
            actions: (
              <>
                <Button
                  label="Show"
                  aria-label={`Show version ${one.version}`}
                  onClick={() => setVersion(one.version)}
                />
                {actions.versionActions(mount, name, one).map((action) => (
                  <ActionButton key={action.label} action={action} of={`version ${one.version}`} onDone={refresh} />
                ))}
              </>
            ),
          }))}
        />
      )}
      {metadata.error !== '' && <p class="error">{`versions: ${metadata.error}`}</p>}
    </section>
  )
}

const secretsOf = (values: Json) =>
  Object.entries(values).map(
    ([key, value]) =>
      [key, <Secret what={key} value={typeof value === 'string' ? value : JSON.stringify(value)} />] as const,
  )

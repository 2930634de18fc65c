import { type ApiAction, destroy, type Field, post, remove, required } from '../actions/action.js'
import { type Call, get, type Json, list, partOf, textOf } from '../parts/api.js'

/** A mounted key/value engine. */
export interface KvMount {
  /** With a trailing slash. */
  readonly path: string
  readonly version: 1 | 2
}

/** Returns the mounts in the response of `sys/internal/ui/mounts`, which lists the mounts that the token may see. */
export const kvMountsOf = (response: Json): readonly KvMount[] =>
  Object.entries(partOf(partOf(response, 'data'), 'secret'))
    .flatMap(([path, mount]) => {
      const { type } = mount as Json
      if (type !== 'kv' && type !== 'generic') return []
      return { path, version: textOf(partOf(mount as Json, 'options'), 'version') === '2' ? 2 : 1 } as const
    })
    .toSorted((one, other) => one.path.localeCompare(other.path))

type Part = 'data' | 'metadata' | 'delete' | 'undelete' | 'destroy'

const at = ({ path, version }: KvMount, part: Part, name: string): string =>
  version === 2 ? `${path}${part}/${name}` : `${path}${name}`

export const listCall = (mount: KvMount, folder: string): Call => list(at(mount, 'metadata', folder))

/** `version`: 0 for the newest. */
export const readCall = (mount: KvMount, name: string, version: number): Call =>
  get(at(mount, 'data', name), version === 0 ? undefined : { version: String(version) })

export const metadataCall = (mount: KvMount, name: string): Call => get(at(mount, 'metadata', name))

/** Returns the values in the response to a read; undefined if there are none, for example for a deleted version. */
export const valuesOf = ({ version }: KvMount, response: Json): Json | undefined => {
  const data = partOf(response, 'data')
  const values = version === 2 ? data.data : response.data
  return typeof values === 'object' && values !== null ? (values as Json) : undefined
}

/**
 * Returns the action that writes a secret. `cas`: the version to replace; 0 if the secret must not exist (version 2
 * only).
 */
const writeAction = (
  mount: KvMount,
  name: string,
  cas: number,
  action: Pick<ApiAction, 'label' | 'fields'>,
): ApiAction =>
  post(action.label, at(mount, 'data', name), {
    ...action,
    isQuiet: true,
    ...(mount.version === 2 ? { fixed: { options: { cas } } } : { bodyField: 'data', isDestructive: true }),
  })

const dataField = (initial: string): Field => required('json', 'data', 'Values (JSON)', initial)

export const newAction = (mount: KvMount, folder: string): ApiAction =>
  writeAction(mount, `${folder}{name}`, 0, {
    label: 'New secret …',
    fields: [required('text', 'name', `Name below ${mount.path}${folder}`), dataField('{\n  "": ""\n}')],
  })

/**
 * Returns the action that changes a secret. `values`: the initial values. Version 2 rejects the change if another
 * client has written meanwhile.
 */
export const changeAction = (mount: KvMount, name: string, values: Json, current: number): ApiAction =>
  writeAction(mount, name, current, {
    label: mount.version === 2 ? 'New version …' : 'Change …',
    fields: [dataField(JSON.stringify(values, null, 2))],
  })

export const deleteAction = (mount: KvMount, name: string): ApiAction =>
  remove(
    mount.version === 2 ? 'Delete all versions …' : 'Delete …',
    at(mount, 'metadata', name),
    'The secret is deleted permanently, with all its versions.',
  )

/** One version in the metadata. */
export interface KvVersion {
  readonly version: number
  readonly created: string
  readonly state: 'available' | 'deleted' | 'destroyed'
}

/** Returns the versions, newest first. */
export const versionsOf = (metadata: Json): readonly KvVersion[] =>
  Object.entries(partOf(partOf(metadata, 'data'), 'versions'))
    .map(([version, facts]) => ({
      version: Number(version),
      created: textOf(facts as Json, 'created_time'),
      state: stateOf(facts as Json),
    }))
    .toSorted((one, other) => other.version - one.version)

const stateOf = (facts: Json): KvVersion['state'] => {
  if (facts.destroyed === true) return 'destroyed'
  return textOf(facts, 'deletion_time') === '' ? 'available' : 'deleted'
}

/** Returns the actions for a version in its current state. */
export const versionActions = (mount: KvMount, name: string, { version, state }: KvVersion): readonly ApiAction[] => {
  const fixed = { versions: [version] }
  const end = destroy('Destroy …', at(mount, 'destroy', name), 'The values of this version are deleted permanently.', {
    fixed,
  })
  if (state === 'destroyed') return []
  return state === 'deleted'
    ? [post('Undelete', at(mount, 'undelete', name), { fixed }), end]
    : [destroy('Delete …', at(mount, 'delete', name), 'The version can be undeleted.', { fixed }), end]
}

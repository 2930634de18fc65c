/** Version 2's data: write, read, patch and soft-delete. A write's metadata and version are one transaction. */
import { type BackendContext, type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { printDocument } from '../../logical/document.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { int, map, string } from '../../logical/fields.js'
import { storedJson } from '../../logical/json.js'
import type { Response } from '../../logical/request.js'
import type { ReadStorage, Transaction } from '../../logical/storage.js'
import { checkCas, parseCas } from './cas.js'
import type { ConfigStore } from './config.js'
import { metadataKey, versionKey } from './layout.js'
import { mergeDocument, mergeInTurns } from './merged-document.js'
import { dropOldVersions } from './max-versions.js'
import { addVersion, describeVersion, isReadable, type KeyMetadata, newMetadata } from './metadata.js'
import { putMetadata, readMetadata } from './stored-metadata.js'
import { deleteVersions } from './versions.js'

const FIELDS = {
  path: string('Location of the secret.'),
  version: int('Which version to read; 0 is the latest.'),
  options: map('`cas`: the version that the write replaces, 0 for a key without versions.'),
  data: map('The object to store.'),
}

type DataCall = Call<typeof FIELDS>

export const dataPaths = ({ storage, clock }: BackendContext, config: ConfigStore): PathSpec[] => {
  const write = async (call: DataCall): Promise<Response> => {
    const { values } = call
    const { path } = values
    if (path === '') throw invalid('missing path')
    if (!call.supplied('data')) throw invalid('no data provided')
    const cas = parseCas(values.options)
    const document = await printDocument(values.data)
    return storage.write((tx) => {
      const metadata = readMetadata(tx, path)
      checkCas(cas, config.current(), metadata)
      return putVersion(tx, path, metadata ?? newMetadata(clock.now()), document.take())
    })
  }

  const putVersion = (tx: Transaction, path: string, metadata: KeyMetadata, text: Buffer): Response => {
    addVersion(metadata, config.current(), clock.now())
    for (const dropped of dropOldVersions(metadata, config.current())) tx.delete(versionKey(path, dropped))
    const number = metadata.currentVersion
    const version = metadata.versions[number]
    if (!version) throw new Error('a version just added is not there')
    putMetadata(tx, path, metadata)
    tx.put(versionKey(path, number), text)
    return { data: describeVersion(metadata, number, version) }
  }

  const read = ({ values: { path, version } }: DataCall): Response | undefined => {
    const found = findVersion(storage, path, version, clock.now())
    if (!found) return undefined
    if (found.stored === undefined) return { status: 404, data: { data: null, metadata: found.description } }
    return { data: { data: storedJson(found.stored), metadata: found.description } }
  }

  const patch = async (call: DataCall): Promise<Response> => {
    const { values } = call
    const { path } = values
    if (!call.supplied('data') || values.data === null) throw invalid('no data provided')
    const changes = values.data
    const cas = parseCas(values.options)
    const ahead = findVersion(storage, path, 0, clock.now())?.stored
    const merged = ahead === undefined ? undefined : await mergeInTurns(ahead.toString('utf8'), changes)
    return storage.write((tx) => {
      const metadata = readMetadata(tx, path)
      if (!metadata) return { status: 404 }
      checkCas(cas, config.current(), metadata)
      const found = findVersion(tx, path, 0, clock.now())
      if (!found) return { status: 404 }
      if (found.stored === undefined) return { status: 404, data: found.description }
      // A patch that came in between is not lost: then it is all done here.
      const isAsBefore = merged !== undefined && ahead?.equals(found.stored)
      const text = isAsBefore ? merged.take() : mergeDocument(found.stored.toString('utf8'), changes)
      return putVersion(tx, path, metadata, text)
    })
  }

  const remove = ({ values: { path } }: DataCall): Promise<undefined> =>
    storage.write((tx) => {
      const metadata = readMetadata(tx, path)
      if (metadata) deleteVersions(tx, path, metadata, [metadata.currentVersion], clock.now())
      return undefined
    })

  return [
    definePath({
      pattern: 'data/*path',
      fields: FIELDS,
      operations: { read, create: write, update: write, patch, delete: remove },
      exists: ({ values: { path } }) => path !== '' && storage.has(metadataKey(path)),
      summary: 'Write, read, patch and delete versions of a secret.',
    }),
  ]
}

/**
 * A version's document and description; the document is undefined when it was deleted or destroyed, the whole when there is no
 * such version. `number` 0 or less is the latest.
 */
export const findVersion = (storage: ReadStorage, path: string, number: number, nowMs: number) => {
  const metadata = readMetadata(storage, path)
  const wanted = number > 0 ? number : metadata?.currentVersion
  const version = wanted === undefined ? undefined : metadata?.versions[wanted]
  if (!metadata || wanted === undefined || !version) return undefined
  const description = describeVersion(metadata, wanted, version)
  if (!isReadable(version, nowMs)) return { description, stored: undefined }
  const value = storage.get(versionKey(path, wanted))
  // While a resync is under way the metadata may have arrived before the data.
  if (!value) throw new LogicalError('internal', 'could not find version data')
  return { description, stored: value }
}

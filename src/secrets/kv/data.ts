/** KV version 2 data: write, read, patch and soft-delete. A write stores metadata and version in one transaction. */
import { type BackendContext, type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { Document, printDocument } from '../../logical/document.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { int, map, string } from '../../logical/fields.js'
import { type JsonObject, type JsonValue, parseJson, storedJson } from '../../logical/json.js'
import type { Response } from '../../logical/request.js'
import type { ReadStorage, Transaction } from '../../logical/storage.js'
import type { ConfigStore, KvConfig } from './config.js'
import { metadataKey, versionKey } from './layout.js'
import { addVersion, describeVersion, isReadable, type KeyMetadata, newMetadata } from './metadata.js'
import { putMetadata, readMetadata } from './stored-metadata.js'
import { changeVersions } from './versions.js'
import { isJsonObject, RawNumber } from '../../base/json.js'
import { LIMITS } from '../../base/limits.js'
import { yieldToEventLoop } from '../../base/turn.js'
import { scanJson } from '../../logical/json-scan.js'
import { printJson } from '../../base/json-print.js'

const DEFAULT_MAX_VERSIONS = 10

const FIELDS = {
  path: string('Location of the secret.'),
  version: int('Version to read; 0 means the latest.'),
  options: map('`cas`: the version that the write replaces, 0 for a key without versions.'),
  data: map('The object to store.'),
}

type DataCall = Call<typeof FIELDS>

export const dataPaths = ({ storage, clock }: BackendContext, config: ConfigStore): PathSpec[] => {
  const write = async (call: DataCall): Promise<Response> => {
    const { values } = call
    const { path } = values
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
    if (!version) throw new Error('the new version is missing from the metadata')
    putMetadata(tx, path, metadata)
    tx.put(versionKey(path, number), text)
    return { data: describeVersion(metadata, number, version) }
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
      // If the secret has changed since the first merge, merges again inside the transaction, so that no patch is lost.
      const isAsBefore = merged !== undefined && ahead?.equals(found.stored)
      const text = isAsBefore ? merged.take() : mergeDocument(found.stored.toString('utf8'), changes)
      return putVersion(tx, path, metadata, text)
    })
  }

  return [
    definePath('data/*path', FIELDS, 'Write, read, patch and delete versions of a secret.', {
      isKeyPath: true,
      read: ({ values: { path, version } }) => {
        const found = findVersion(storage, path, version, clock.now())
        if (!found) return undefined
        if (found.stored === undefined) return { status: 404, data: { data: null, metadata: found.description } }
        return { data: { data: storedJson(found.stored), metadata: found.description } }
      },
      create: write,
      update: write,
      patch,
      delete: ({ values: { path } }) =>
        storage.write((tx) => {
          const metadata = readMetadata(tx, path)
          const numbers = [metadata?.currentVersion ?? 0]
          if (metadata) changeVersions('delete', { tx, path, metadata, numbers, nowMs: clock.now() })
          return undefined
        }),
      exists: ({ values: { path } }) => path !== '' && storage.has(metadataKey(path)),
    }),
  ]
}

/**
 * Returns the document (`stored`) and the metadata of a version. `stored` is undefined if the version was deleted or
 * destroyed. Returns undefined if the version does not exist. A `number` of 0 or less means the latest version. Throws
 * LogicalError `internal` if the data is missing.
 */
export const findVersion = (storage: ReadStorage, path: string, number: number, nowMs: number) => {
  const metadata = readMetadata(storage, path)
  const wanted = number > 0 ? number : metadata?.currentVersion
  const version = wanted === undefined ? undefined : metadata?.versions[wanted]
  if (!metadata || wanted === undefined || !version) return undefined
  const description = describeVersion(metadata, wanted, version)
  if (!isReadable(version, nowMs)) return { description, stored: undefined }
  const value = storage.get(versionKey(path, wanted))
  // During a resync, the metadata can arrive before the data.
  if (!value) throw new LogicalError('internal', 'could not find version data')
  return { description, stored: value }
}

/**
 * Performs check-and-set: `cas` is the version that the write expects to replace. Throws LogicalError 400 if the
 * current version is another one, or if `cas` is required but absent. Must run inside the transaction of the write.
 */
const checkCas = (cas: number | undefined, config: KvConfig, metadata: KeyMetadata | undefined): void => {
  if (cas === undefined) {
    if (config.casRequired || metadata?.casRequired) throw invalid('check-and-set parameter required for this call')
  } else if (cas !== (metadata?.currentVersion ?? 0)) {
    throw invalid('check-and-set parameter did not match the current version')
  }
}

/**
 * Returns `options.cas`, which clients send in several JSON types; undefined if the request does not contain it. Throws
 * LogicalError 400 for other values.
 */
const parseCas = (options: { readonly [key: string]: JsonValue } | null): number | undefined => {
  const value = options?.cas
  if (value === undefined) return undefined
  if (value === null || value === '' || value === false) return 0
  if (value === true) return 1
  if (typeof value === 'number' && Number.isInteger(value)) return value
  const text = value instanceof RawNumber ? value.text : value
  if (typeof text === 'string' && /^[+-]?(\d+|0x[0-9a-f]+)$/i.test(text)) return Number(text)
  throw invalid('error parsing check-and-set parameter')
}

/**
 * Removes the oldest versions beyond the limit: the larger of the key's limit and the mount's limit. Returns the
 * numbers of the removed versions.
 */
const dropOldVersions = (metadata: KeyMetadata, config: KvConfig): number[] => {
  const limit = Math.max(metadata.maxVersions, config.maxVersions) || DEFAULT_MAX_VERSIONS
  const numbers = Object.keys(metadata.versions)
  if (numbers.length <= limit) return []
  metadata.oldestVersion = metadata.currentVersion - limit + 1
  const dropped = numbers.map(Number).filter((number) => number < metadata.oldestVersion)
  for (const number of dropped) delete metadata.versions[number]
  return dropped
}

/**
 * Throws LogicalError 413 or 400 if a patched document exceeds the limits of a full write. Without this check, a
 * document could grow to any size in many patches.
 */
const checkedSize = (bytes: Buffer): Buffer => {
  if (bytes.length > LIMITS.bodyBytesMax)
    throw new LogicalError('body-too-large', 'the patched secret would exceed the maximum size')
  scanJson(bytes, LIMITS.jsonValuesMax)
  return bytes
}

/** Merges in one turn of the event loop. Throws LogicalError like `checkedSize`. */
const mergeDocument = (text: string, changes: JsonObject): Buffer =>
  checkedSize(Buffer.from(printJson(mergePatch(parseJson(text), changes))))

/** Merges in several turns of the event loop. The stored document can change in the meantime. */
const mergeInTurns = async (text: string, changes: JsonObject): Promise<Document> => {
  await yieldToEventLoop(text.length)
  const value = parseJson(text)
  await yieldToEventLoop(text.length)
  const bytes = (await printDocument(mergePatch(value, changes))).take()
  checkedSize(bytes)
  await yieldToEventLoop(bytes.length)
  return new Document(bytes)
}

/** Applies a JSON merge patch (RFC 7386): objects are merged, null removes a key, and any other value replaces it. */
export const mergePatch = (target: JsonValue | undefined, patch: JsonObject): JsonObject => {
  const merged: JsonObject = Object.assign(Object.create(null), isJsonObject(target) ? target : undefined)
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key]
    else merged[key] = isJsonObject(value) ? mergePatch(merged[key], value) : value
  }
  return merged
}

/**
 * The endpoints delete, undelete and destroy of KV version 2, which change versions of one key. They ignore versions
 * that do not exist.
 */
import { type BackendContext, type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { any, string } from '../../logical/fields.js'
import { RawNumber } from '../../base/json.js'
import type { JsonValue } from '../../logical/json.js'
import type { Transaction } from '../../logical/storage.js'
import { versionKey } from './layout.js'
import { isReadable, type KeyMetadata, type VersionMetadata } from './metadata.js'
import { putMetadata, readMetadata } from './stored-metadata.js'

const FIELDS = {
  path: string('Location of the secret.'),
  versions: any('Numbers of the versions: a list or a comma-separated string.'),
}

type VersionsCall = Call<typeof FIELDS>

type Verb = 'delete' | 'undelete' | 'destroy'

/** The change that each endpoint makes to a version. `drop` deletes the data of the version. */
const CHANGES: Readonly<Record<Verb, (version: VersionMetadata, nowMs: number, drop: () => void) => void>> = {
  delete: (version, nowMs) => {
    if (isReadable(version, nowMs)) version.deletedMs = nowMs
  },
  undelete: (version) => {
    if (version.destroyed !== true) delete version.deletedMs
  },
  destroy: (version, _, drop) => {
    version.destroyed = true
    drop()
  },
}

interface Changed {
  readonly tx: Transaction
  readonly path: string
  readonly metadata: KeyMetadata
  readonly numbers: readonly number[]
  readonly nowMs: number
}

export const changeVersions = (verb: Verb, { tx, path, metadata, numbers, nowMs }: Changed): void => {
  for (const number of numbers) {
    const version = metadata.versions[number]
    if (version) CHANGES[verb](version, nowMs, () => tx.delete(versionKey(path, number)))
  }
  putMetadata(tx, path, metadata)
}

export const versionPaths = ({ storage, clock }: BackendContext): PathSpec[] => {
  const endpoint = (verb: Verb, whenEmpty: string, summary: string): PathSpec =>
    definePath(`${verb}/*path`, FIELDS, summary, {
      update: ({ values: { path, versions } }: VersionsCall) => {
        const numbers = parseVersions(versions)
        if (numbers.length === 0) throw invalid(whenEmpty)
        return storage.write((tx) => {
          const metadata = readMetadata(tx, path)
          if (metadata) changeVersions(verb, { tx, path, metadata, numbers, nowMs: clock.now() })
          return undefined
        })
      },
    })

  return [
    endpoint('delete', 'No version number provided', 'Delete versions. They can be undeleted.'),
    endpoint('undelete', 'No version number provided', 'Undelete versions.'),
    endpoint('destroy', 'no version number provided', 'Destroy the data of versions permanently.'),
  ]
}

/** Parses version numbers: a number, a comma-separated text, or a list. Throws LogicalError 400 for any other value. */
const parseVersions = (value: JsonValue | undefined): number[] => {
  if (value === undefined || value === null || value === '') return []
  const parts = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value : [value]
  return parts.map((part) => {
    const text = part instanceof RawNumber ? part.text : part
    const isText = typeof text === 'number' || typeof text === 'string'
    if (!isText || !/^\s*\d+\s*$/.test(String(text))) {
      throw invalid(`Field validation failed: error converting input for field "versions": not a version number`)
    }
    return Number(text)
  })
}

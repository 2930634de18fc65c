/** KV version 2 delete, undelete and destroy: each names versions of one key. Versions that do not exist are ignored. */
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

type Change = (tx: Transaction, path: string, metadata: KeyMetadata, numbers: readonly number[], nowMs: number) => void

export const versionPaths = ({ storage, clock }: BackendContext): PathSpec[] => {
  const endpoint = (verb: string, change: Change, whenEmpty: string, summary: string): PathSpec =>
    definePath(`${verb}/*path`, FIELDS, summary, {
      update: ({ values }: VersionsCall) => {
        const numbers = parseVersions(values.versions)
        if (numbers.length === 0) throw invalid(whenEmpty)
        return storage.write((tx) => {
          const metadata = readMetadata(tx, values.path)
          if (metadata) change(tx, values.path, metadata, numbers, clock.now())
          return undefined
        })
      },
    })

  return [
    endpoint('delete', deleteVersions, 'No version number provided', 'Delete versions. They can be undeleted.'),
    endpoint('undelete', undeleteVersions, 'No version number provided', 'Undelete versions.'),
    endpoint('destroy', destroyVersions, 'no version number provided', 'Destroy the data of versions permanently.'),
  ]
}

export const deleteVersions: Change = (tx, path, metadata, numbers, nowMs) => {
  changeEach(tx, path, metadata, numbers, (version) => {
    if (isReadable(version, nowMs)) version.deletedMs = nowMs
  })
}

const undeleteVersions: Change = (tx, path, metadata, numbers) => {
  changeEach(tx, path, metadata, numbers, (version) => {
    if (version.destroyed !== true) delete version.deletedMs
  })
}

const destroyVersions: Change = (tx, path, metadata, numbers) => {
  changeEach(tx, path, metadata, numbers, (version, number) => {
    version.destroyed = true
    tx.delete(versionKey(path, number))
  })
}

const changeEach = (
  tx: Transaction,
  path: string,
  metadata: KeyMetadata,
  numbers: readonly number[],
  change: (version: VersionMetadata, number: number) => void,
): void => {
  for (const number of numbers) {
    const version = metadata.versions[number]
    if (version) change(version, number)
  }
  putMetadata(tx, path, metadata)
}

/** Parses integers, or texts of integers, in a list, alone or separated by commas. Throws 400 for anything else. */
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

/** The paths backup and restore. A backup is a text with a key and all its versions, in a format of Understudy. */
import { attempt } from '../../base/attempt.js'
import { privateKeyOf } from '../../crypto/key-pairs.js'
import { definePath, definePaths, type PathSpec } from '../../logical/backend.js'
import { isJsonObject } from '../../base/json.js'
import { LIMITS } from '../../base/limits.js'
import { invalid } from '../../logical/errors.js'
import { bool, string } from '../../logical/fields.js'
import { type JsonObject, type JsonValue, parseJson } from '../../logical/json.js'
import { decodeBase64 } from './batch.js'
import type { KeyRecord } from './key-record.js'
import { checkSettings, type KeyStore } from './key-store.js'
import { keyTypeOf, parseKeyType } from './key-types.js'

const NAME = { name: string('Name of the key.') } as const

const RESTORE_FIELDS = {
  name: string('Name of the restored key. Default: its original name.'),
  backup: string('The text that backup returned.', '', { isSecret: true }),
  force: bool('Replaces an existing key of this name.'),
} as const

const FORMAT = 'understudy transit key 1'

export const backupPaths = (keys: KeyStore): PathSpec[] => [
  definePath('backup/:name', NAME, 'Back up a whole key in plain text, if its settings allow it.', {
    read: async ({ values: { name } }) => {
      const record = await keys.change(name, `key ${JSON.stringify(name)} not found`, (before) => {
        if (!before.exportable) throw invalid('exporting is disallowed on the policy')
        if (!before.allowPlaintextBackup) throw invalid('plaintext backup is disallowed on the policy')
        return { ...before, backedUp: { ms: keys.context.clock.now(), version: before.latestVersion } }
      })
      return { data: { backup: Buffer.from(JSON.stringify({ format: FORMAT, record })).toString('base64') } }
    },
  }),
  ...definePaths(['restore', 'restore/:name'], RESTORE_FIELDS, 'Restore a key from a backup.', {
    update: async ({ values }) => {
      if (values.backup === '') throw invalid("'backup' must be supplied")
      const record = parseBackup(values.backup)
      const named = values.name === '' ? record : { ...record, name: values.name }
      const restored = { ms: keys.context.clock.now(), version: record.latestVersion }
      await keys.restore({ ...named, restored }, values.force)
      return undefined
    },
  }),
]

const damaged = () => invalid('the backup cannot be read: it is damaged, or another kind of server created it')

const COUNTS = [
  'minDecryptionVersion',
  'minEncryptionVersion',
  'minAvailableVersion',
  'latestVersion',
  'autoRotatePeriodSeconds',
] as const

const FLAGS = ['derived', 'convergent', 'exportable', 'allowPlaintextBackup', 'deletionAllowed'] as const

/** Parses a backup. Throws LogicalError 400 for a text that `backup` cannot have returned. */
const parseBackup = (text: string): KeyRecord => {
  const outer = attempt(() => parseJson(decodeBase64(text).toString('utf8')))
  if (!isJsonObject(outer) || outer.format !== FORMAT || !isJsonObject(outer.record)) throw damaged()
  const { record } = outer
  const { name, type, versions } = record
  if (typeof name !== 'string' || typeof type !== 'string' || !isJsonObject(versions)) throw damaged()
  const isSound =
    COUNTS.every((count) => Number.isSafeInteger(record[count]) && Number(record[count]) >= 0) &&
    FLAGS.every((flag) => typeof record[flag] === 'boolean') &&
    isBackupEvent(record.backedUp) &&
    areVersions(record, versions)
  if (!isSound) throw damaged()
  const restored = { ...(record as unknown as KeyRecord), type: parseKeyType(type).name }
  checkSettings(keyTypeOf(restored.type), restored)
  return restored
}

/** Returns true if the versions are complete, from the oldest available version to the latest version. */
const areVersions = (record: JsonObject, versions: JsonObject): boolean => {
  const latest = Number(record.latestVersion)
  const names = Object.keys(versions)
  const numbers = names.map(Number)
  const oldest = Math.max(1, Number(record.minAvailableVersion))
  const minimum = Number(record.minDecryptionVersion)
  if (minimum < oldest || minimum > latest || Number(record.minEncryptionVersion) > latest) return false
  if (numbers.length > LIMITS.transitKeyVersionsMax || numbers.length !== latest - oldest + 1) return false
  // Requires canonical numbers as names, so that two names cannot refer to the same version.
  if (names.some((name, at) => name !== String(numbers[at]))) return false
  return numbers.every((number) => number >= oldest && number <= latest && isVersion(versions[number], record))
}

const isVersion = (version: JsonValue | undefined, { type }: JsonObject): boolean => {
  if (!isJsonObject(version)) return false
  const { createdMs, material, hmacKey } = version
  if (!isTime(createdMs) || typeof material !== 'string' || typeof hmacKey !== 'string') return false
  const kind = keyTypeOf(parseKeyType(String(type)).name)
  const bytes = Buffer.from(material, 'base64')
  return kind.form === 'pair' ? isPrivateKey(bytes, kind.pair.type) : bytes.length === kind.keyBytes
}

const isBackupEvent = (event: JsonValue | undefined): boolean =>
  event === undefined || (isJsonObject(event) && isTime(event.ms) && Number.isSafeInteger(event.version))

const isTime = (value: JsonValue | undefined): boolean =>
  typeof value === 'number' && !Number.isNaN(new Date(value).getTime())

const isPrivateKey = (bytes: Buffer, type: string): boolean =>
  attempt(() => privateKeyOf(bytes).asymmetricKeyType === type) ?? false

/**
 * The audit devices of this cluster. A request is executed only after at least one device has written the entry of the
 * request. The response is sent only after at least one device has written the entry of the response. Neither rule
 * applies if the cluster has no audit device.
 */
import { messageOf } from '../../base/printable.js'
import type { Clock } from '../../base/clock.js'
import { uuid } from '../../base/id.js'
import type { Log } from '../../base/log.js'
import type { Random } from '../../base/random.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { putJson, readJson, type Storage } from '../../logical/storage.js'
import { AuditDevice, keepsTail, type WriteText } from './audit-device.js'
import type { AuditEntry, AuditResponseEntry } from './audit-entry.js'
import { hashText, WholeDigests } from './audit-hash.js'
import { type AuditRecord, AuditTail, parseAuditOptions, RECORD_PREFIXES, recordKey } from './audit-record.js'
import type { Meter } from '../status/metrics.js'
import { KEYS } from '../../storage/keys/key-families.js'

interface AuditBrokerOptions {
  readonly storage: Storage
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /**
   * Writes the lines of devices whose path is `stdout`. Rejects if standard output cannot accept the text. Never waits
   * for a reader.
   */
  readonly standardOutput: WriteText
  readonly meter: Pick<Meter, 'record' | 'count'>
}

/** A device to enable. `name` has no trailing slash. */
type NewAuditDevice = Pick<AuditRecord, 'description' | 'isLocal' | 'options'> & { name: string; type: string }

export class AuditBroker {
  readonly headers: ReturnType<typeof auditedHeaders>
  readonly #options: AuditBrokerOptions
  readonly #wholes = new WholeDigests()
  readonly #tail = new AuditTail()
  /** Stored devices, by storage key. */
  readonly #devices = new Map<string, AuditDevice>()
  /** Devices that are being enabled: created, but not yet stored. By salt, which is unique per device. */
  readonly #tried = new Map<string, AuditDevice>()
  readonly #closing = new Set<Promise<void>>()

  constructor(options: AuditBrokerOptions) {
    this.#options = options
    this.headers = auditedHeaders(options.storage)
  }

  /**
   * Loads the stored devices. A device opens its file when it writes its first line, so that a file that cannot be
   * opened does not prevent startup.
   */
  async load(): Promise<void> {
    for (const prefix of RECORD_PREFIXES) {
      for (const key of await this.#options.storage.keys(prefix)) this.#follow(key)
    }
  }

  get isEnabled(): boolean {
    return this.#devices.size > 0
  }

  /** Writes the entry of a request to all devices. Rejects with LogicalError `internal` if every device failed. */
  async logRequest(entry: AuditEntry): Promise<void> {
    const timeMs = this.#options.clock.now()
    await this.#measured('vault.audit.log_request', (device) => device.logRequest(entry, timeMs))
  }

  async logResponse(entry: AuditResponseEntry): Promise<void> {
    const timeMs = this.#options.clock.now()
    await this.#measured('vault.audit.log_response', (device) => device.logResponse(entry, timeMs))
  }

  /** Returns the records, sorted by path. */
  list(): AuditRecord[] {
    return [...this.#devices.values()].map(({ record }) => record).sort((a, b) => (a.path < b.path ? -1 : 1))
  }

  /** Returns the most recent lines, and the paths of the devices whose lines are kept. */
  tail(): { readonly lines: ReturnType<AuditTail['list']>; readonly kept: readonly string[] } {
    const kept = this.list().filter(({ options }) => keepsTail(parseAuditOptions(options)))
    return { lines: this.#tail.list(), kept: kept.map(({ path }) => path) }
  }

  /**
   * Opens, tests and stores a device. Rejects with 400 for a path in use, an unknown type, or a device that fails its
   * test.
   */
  async enable({ name, type, description, isLocal, options }: NewAuditDevice): Promise<void> {
    const path = `${name}/`
    if (type !== 'file') throw invalid(`unknown backend type: ${JSON.stringify(type)}`)
    if (this.list().some((other) => other.path.startsWith(path) || path.startsWith(other.path))) throw pathInUse()
    const record: AuditRecord = { path, type, description, isLocal, options, salt: uuid(this.#options.random) }
    const device = this.#createDevice(record)
    this.#tried.set(record.salt, device)
    try {
      await orRefuse(device.sink.open(), 'sanity check failed; unable to open the audit file')
      await orRefuse(
        device.test(uuid(this.#options.random), this.#options.clock.now()),
        'audit backend failed test message',
      )
      await this.#options.storage.write((tx) => {
        if (RECORD_PREFIXES.some((prefix) => tx.get(prefix + name))) throw pathInUse()
        putJson(tx, recordKey(record), record)
      })
    } catch (error) {
      await device.sink.close()
      throw error
    } finally {
      this.#tried.delete(record.salt)
    }
  }

  /** Removes a device. Does nothing if the device does not exist. */
  async disable(name: string): Promise<void> {
    const record = this.list().find(({ path }) => path === `${name}/`)
    if (!record) return
    const key = recordKey(record)
    await this.#options.storage.write((tx) => tx.delete(key))
  }

  /** Returns the hash of `text` with the key of a device; undefined if the device does not exist. */
  findHash(name: string, text: string): string | undefined {
    const record = this.list().find(({ path }) => path === `${name}/`)
    return record && hashText(record.salt, text)
  }

  /** Reopens the files of all devices. If a file cannot be opened, the next line of its device opens it. */
  async reload(): Promise<void> {
    await Promise.all(
      [...this.#devices.values()].map((device) => device.sink.reopen().catch((error) => this.#warn(device, error))),
    )
  }

  invalidate(key: string): void {
    if (key === KEYS.auditedHeaders) this.headers.forget()
    else this.#follow(key)
  }

  /** Resolves when all logged lines are written and all files are closed. */
  async close(): Promise<void> {
    for (const key of [...this.#devices.keys()]) this.#replace(key, undefined)
    await Promise.all(this.#closing)
  }

  #createDevice(record: AuditRecord): AuditDevice {
    const { standardOutput, clock } = this.#options
    return new AuditDevice(record, {
      headers: () => this.headers.all(),
      wholes: this.#wholes,
      standardOutput,
      clock,
      tail: this.#tail,
    })
  }

  /** Makes the open devices match the record of a key: opens, replaces or closes a device. */
  #follow(key: string): void {
    const record = readJson<AuditRecord>(this.#options.storage, key)
    const current = this.#devices.get(key)?.record
    if (record && current?.salt === record.salt) return
    this.#replace(key, record && (this.#tried.get(record.salt) ?? this.#createDevice(record)))
  }

  #replace(key: string, device: AuditDevice | undefined): void {
    const before = this.#devices.get(key)
    if (device) this.#devices.set(key, device)
    else this.#devices.delete(key)
    if (!before) return
    const closing = before.sink.close().catch((error: unknown) => void this.#warn(before, error))
    this.#closing.add(closing)
    void closing.then(() => this.#closing.delete(closing))
  }

  /** Writes an entry to all devices. Records the duration, and counts entries that no device wrote. */
  async #measured(name: string, log: (device: AuditDevice) => Promise<void>): Promise<void> {
    const { clock, meter } = this.#options
    const startedMs = clock.monotonic()
    let failures = 1
    try {
      const devices = [...this.#devices.values()]
      const logged = devices.map((device) =>
        log(device).then(
          () => true,
          (error: unknown) => this.#warn(device, error),
        ),
      )
      const outcomes = await Promise.all(logged)
      if (outcomes.length > 0 && !outcomes.includes(true)) throw new LogicalError('internal', 'internal error')
      failures = 0
    } finally {
      meter.record(name, clock.monotonic() - startedMs)
      meter.count(`${name}_failure`, {}, failures)
    }
  }

  #warn(device: AuditDevice, error: unknown): false {
    this.#options.log.error('an audit device failed', { device: device.record.path, reason: messageOf(error) })
    return false
  }
}

const pathInUse = (): LogicalError => invalid('path already in use')

const orRefuse = async (step: Promise<void>, refusal: string): Promise<void> => {
  try {
    await step
  } catch (error) {
    throw new LogicalError('invalid-request', `${refusal}: ${messageOf(error)}`, { cause: error })
  }
}

interface AuditedHeader {
  readonly hmac: boolean
}

type HeaderRecord = Readonly<Record<string, AuditedHeader>>

/** The request headers that audit devices log: one record for all devices. */
const auditedHeaders = (storage: Storage) => {
  let kept: ReadonlyMap<string, AuditedHeader> | undefined
  return {
    /** Returns the headers by lower-case name. */
    all(): ReadonlyMap<string, AuditedHeader> {
      kept ??= new Map(Object.entries(readJson<HeaderRecord>(storage, KEYS.auditedHeaders) ?? {}))
      return kept
    },
    /** Stores the settings of a header. Undefined means that devices do not log the header. */
    set: (name: string, header: AuditedHeader | undefined): Promise<void> =>
      storage.write((tx) => {
        const { [name.toLowerCase()]: _replaced, ...others } = readJson<HeaderRecord>(tx, KEYS.auditedHeaders) ?? {}
        putJson(tx, KEYS.auditedHeaders, header === undefined ? others : { ...others, [name.toLowerCase()]: header })
      }),
    /** Discards the cached record after a change. */
    forget() {
      kept = undefined
    },
  }
}

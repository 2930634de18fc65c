/**
 * The audit devices of this cluster. A request is executed only when at least one device has taken its entry, and answered
 * only when one has taken the entry of the response; without devices nothing is asked of anybody.
 */
import type { Clock } from '../../base/clock.js'
import { uuid } from '../../base/id.js'
import type { Log } from '../../base/log.js'
import type { Random } from '../../base/random.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { putJson, readJson, type Storage } from '../../logical/storage.js'
import { AuditDevice, keepsTail, type WriteText } from './audit-device.js'
import type { AuditEntry, AuditResponseEntry } from './audit-entry.js'
import { hashText, WholeDigests } from './audit-hash.js'
import { type AuditRecord, parseAuditOptions, RECORD_PREFIXES, recordKey } from './audit-record.js'
import { AuditTail } from './audit-tail.js'
import type { Meter } from '../status/metrics.js'
import { KEYS } from '../../storage/keys/key-families.js'

interface AuditBrokerOptions {
  readonly storage: Storage
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** Takes the lines of devices whose file is `stdout`; rejects what it cannot take, and never waits for a reader. */
  readonly standardOutput: WriteText
  readonly meter: Pick<Meter, 'record' | 'count'>
}

/** A device that is to be enabled. `name` is without a trailing slash. */
type NewAuditDevice = Pick<AuditRecord, 'description' | 'isLocal' | 'options'> & { name: string; type: string }

export class AuditBroker {
  readonly headers: AuditedHeaders
  readonly #options: AuditBrokerOptions
  readonly #wholes = new WholeDigests()
  readonly #tail = new AuditTail()
  /** By storage key, as they are stored. */
  readonly #devices = new Map<string, AuditDevice>()
  /** Opened and tried, and on their way to the disk; by salt, which no two have. */
  readonly #tried = new Map<string, AuditDevice>()
  /** Devices that are being closed. */
  readonly #closing = new Set<Promise<void>>()

  constructor(options: AuditBrokerOptions) {
    this.#options = options
    this.headers = new AuditedHeaders(options.storage)
  }

  /** Reads the table. Files are opened with their first line, so that one that cannot be opened does not stop a start. */
  async load(): Promise<void> {
    for (const prefix of RECORD_PREFIXES) {
      for (const key of await this.#options.storage.keys(prefix)) this.#follow(key)
    }
  }

  get isEnabled(): boolean {
    return this.#devices.size > 0
  }

  /** Throws LogicalError `internal` when no device took the entry. */
  async logRequest(entry: AuditEntry): Promise<void> {
    const timeMs = this.#options.clock.now()
    await this.#measured('vault.audit.log_request', (device) => device.logRequest(entry, timeMs))
  }

  async logResponse(entry: AuditResponseEntry): Promise<void> {
    const timeMs = this.#options.clock.now()
    await this.#measured('vault.audit.log_response', (device) => device.logResponse(entry, timeMs))
  }

  /** The records, sorted by path. */
  list(): AuditRecord[] {
    return [...this.#devices.values()].map(({ record }) => record).sort((a, b) => (a.path < b.path ? -1 : 1))
  }

  /** The newest lines that the devices wrote, and of which devices they are kept. */
  tail(): { readonly lines: ReturnType<AuditTail['list']>; readonly kept: readonly string[] } {
    const kept = this.list().filter(({ options }) => keepsTail(parseAuditOptions(options)))
    return { lines: this.#tail.list(), kept: kept.map(({ path }) => path) }
  }

  /** Opens the device, tries it and stores it. Throws 400 for a path in use, an unknown type, or what takes no line. */
  async enable({ name, type, description, isLocal, options }: NewAuditDevice): Promise<void> {
    const path = `${name}/`
    if (type !== 'file') throw invalid(`unknown backend type: ${JSON.stringify(type)}`)
    if (this.list().some((other) => other.path.startsWith(path) || path.startsWith(other.path))) throw pathInUse()
    const record: AuditRecord = { path, type, description, isLocal, options, salt: uuid(this.#options.random) }
    const device = this.#createDevice(record)
    this.#tried.set(record.salt, device)
    try {
      await orRefuse(device.open(), 'sanity check failed; unable to open the audit file')
      await orRefuse(
        device.test(uuid(this.#options.random), this.#options.clock.now()),
        'audit backend failed test message',
      )
      await this.#options.storage.write((tx) => {
        if (RECORD_PREFIXES.some((prefix) => tx.get(prefix + name))) throw pathInUse()
        putJson(tx, recordKey(record), record)
      })
    } catch (error) {
      await device.close()
      throw error
    } finally {
      this.#tried.delete(record.salt)
    }
  }

  /** Removes the device; nothing happens when there is none of that name. */
  async disable(name: string): Promise<void> {
    const record = this.list().find(({ path }) => path === `${name}/`)
    if (!record) return
    const key = recordKey(record)
    await this.#options.storage.write((tx) => tx.delete(key))
  }

  /** The hash of `text` by the key of a device; undefined when there is no device of that name. */
  findHash(name: string, text: string): string | undefined {
    const record = this.list().find(({ path }) => path === `${name}/`)
    return record && hashText(record.salt, text)
  }

  /** Opens all files anew. Resolves when that is done; a file that cannot be opened is tried again with its next line. */
  async reload(): Promise<void> {
    await Promise.all(
      [...this.#devices.values()].map((device) => device.reopen().catch((error) => this.#warn(device, error))),
    )
  }

  /** A record has changed. */
  invalidate(key: string): void {
    if (key === KEYS.auditedHeaders) this.headers.forget()
    else this.#follow(key)
  }

  /** Resolves when all that was logged is written and every file is closed. */
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

  /** Makes the device of a key what its record says. */
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
    const closing = before.close().catch((error: unknown) => void this.#warn(before, error))
    this.#closing.add(closing)
    void closing.then(() => this.#closing.delete(closing))
  }

  /** Counts what is logged, and how often no device took it. */
  async #measured(name: string, log: (device: AuditDevice) => Promise<void>): Promise<void> {
    const { clock, meter } = this.#options
    const startedMs = clock.monotonic()
    let failures = 1
    try {
      await this.#toAll(log)
      failures = 0
    } finally {
      meter.record(name, clock.monotonic() - startedMs)
      meter.count(`${name}_failure`, {}, failures)
    }
  }

  async #toAll(log: (device: AuditDevice) => Promise<void>): Promise<void> {
    const devices = [...this.#devices.values()]
    const outcomes = await Promise.all(
      devices.map((device) =>
        log(device).then(
          () => true,
          (error: unknown) => this.#warn(device, error),
        ),
      ),
    )
    if (outcomes.length > 0 && !outcomes.includes(true)) throw new LogicalError('internal', 'internal error')
  }

  #warn(device: AuditDevice, error: unknown): false {
    this.#options.log.error('an audit device failed', { device: device.record.path, reason: reasonOf(error) })
    return false
  }
}

const pathInUse = (): LogicalError => invalid('path already in use')

const orRefuse = async (step: Promise<void>, refusal: string): Promise<void> => {
  try {
    await step
  } catch (error) {
    throw new LogicalError('invalid-request', `${refusal}: ${reasonOf(error)}`, { cause: error })
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

interface AuditedHeader {
  readonly hmac: boolean
}

type HeaderRecord = Readonly<Record<string, AuditedHeader>>

/** The request headers that audit devices log: one record for all devices. */
class AuditedHeaders {
  readonly #storage: Storage
  #kept: ReadonlyMap<string, AuditedHeader> | undefined

  constructor(storage: Storage) {
    this.#storage = storage
  }

  /** By lower-case name. */
  all(): ReadonlyMap<string, AuditedHeader> {
    this.#kept ??= new Map(Object.entries(readJson<HeaderRecord>(this.#storage, KEYS.auditedHeaders) ?? {}))
    return this.#kept
  }

  /** Undefined stops the logging of the header. */
  set(name: string, header: AuditedHeader | undefined): Promise<void> {
    return this.#storage.write((tx) => {
      const { [name.toLowerCase()]: _replaced, ...others } = readJson<HeaderRecord>(tx, KEYS.auditedHeaders) ?? {}
      putJson(tx, KEYS.auditedHeaders, header === undefined ? others : { ...others, [name.toLowerCase()]: header })
    })
  }

  /** The record has changed. */
  forget(): void {
    this.#kept = undefined
  }
}

import { wholeSeconds } from '../../base/duration.js'
import type { Clock } from '../../base/clock.js'
import { turnFor } from '../../base/turn.js'
import { LogicalError, invalid } from '../../logical/errors.js'
import { renderBody } from '../../logical/envelope.js'
import type { NamespaceRef, Request, Response, TokenView, WrapInfo, WrapRequest } from '../../logical/request.js'
import type { Storage } from '../../logical/storage.js'
import { readJson } from '../../logical/storage.js'
import type { TokenEntry, TokenStore } from '../tokens/tokens.js'

/** A wrapped answer, as it is kept in the cubbyhole of the wrapping token and deleted with the token. */
interface WrappedRecord {
  readonly ttlSeconds: number
  readonly creationTime: string
  readonly creationPath: string
  readonly status: number
  readonly contentType: string
  readonly body: string
}

const RECORD = 'response'
const NOT_VALID = 'wrapping token is not valid or does not exist'
const POLICY = 'response-wrapping'

const READ_WARNING =
  "Reading from 'cubbyhole/response' is deprecated. Please use sys/wrapping/unwrap to unwrap responses, as it provides additional security checks and other benefits."

/** Shows a wrapped answer as text, which older clients read from the cubbyhole of its token; undefined for other tokens. */
export const presentWrapped = (token: TokenView | undefined, path: string, value: Buffer): Response | undefined => {
  if (path !== RECORD || !token?.policies.includes(POLICY)) return undefined
  const { body } = JSON.parse(value.toString('utf8')) as WrappedRecord
  return { data: { response: body }, warnings: [READ_WARNING] }
}

/**
 * Signs and checks the JWT form of wrapping tokens. What a JWT says is no token: the id of the one behind it is derived
 * from the name in it, by a key that stays in the replication set, so that nothing is to be had for less than the whole.
 */
export interface WrappingSigner {
  /** A new name, and the id that belongs to it, without the ending of the namespace. */
  newName(namespaceId: string): { readonly name: string; readonly tokenId: string }
  sign(claims: { readonly name: string; readonly ttlSeconds: number }): Promise<string>
  /** The id of the token, or undefined when the text is no JWT of this cluster or has expired. */
  verify(jwt: string): Promise<string | undefined>
}

interface WrappingOptions {
  readonly tokens: TokenStore
  /** View of `cubbyhole/`. */
  readonly cubbyhole: Storage
  readonly signer: WrappingSigner
  readonly clock: Clock
}

/** Response wrapping: an answer is kept under a token of one use, and handed out once to whoever brings the token. */
export class Wrapping {
  readonly #options: WrappingOptions

  constructor(options: WrappingOptions) {
    this.#options = options
  }

  /** Keeps `response` and returns the answer that stands in its place. */
  async wrap(request: Request, response: Response, wrap: WrapRequest): Promise<Response> {
    const rendered = renderBody(request.id, response)
    await turnFor(String(rendered.body).length)
    const wrapInfo = await this.keep({
      namespace: request.namespace,
      creationPath: request.path,
      wrap,
      status: rendered.status,
      contentType: rendered.contentType,
      body: String(rendered.body),
      wrappedAccessor: response.wrappedAccessor ?? response.auth?.accessor ?? '',
    })
    return { wrapInfo, mountType: '' }
  }

  /** Keeps any body, such as the bundle that activates a secondary. */
  async keep(kept: {
    readonly namespace: NamespaceRef
    readonly creationPath: string
    readonly wrap: WrapRequest
    readonly status: number
    readonly contentType: string
    readonly body: string
    readonly wrappedAccessor: string
  }): Promise<WrapInfo> {
    const { tokens, signer, clock } = this.#options
    const creationTime = new Date(clock.now()).toISOString()
    const { ttlSeconds, format } = kept.wrap
    const { creationPath, status, contentType, body } = kept
    const record: WrappedRecord = { ttlSeconds, creationTime, creationPath, status, contentType, body }
    const text = JSON.stringify(record)
    await turnFor(text.length)
    const named = format === 'jwt' ? signer.newName(kept.namespace.id) : undefined
    const entry = await tokens.issueWrapping({
      id: named?.tokenId,
      ttlSeconds,
      creationPath,
      namespace: kept.namespace,
      records: { [RECORD]: Buffer.from(text) },
    })
    return {
      token: named ? await signer.sign({ name: named.name, ttlSeconds }) : tokens.present(entry),
      accessor: named ? '' : entry.accessor,
      ttlSeconds,
      creationTime,
      creationPath,
      wrappedAccessor: kept.wrappedAccessor,
    }
  }

  /** The id behind what was presented: a whole JWT stands for a token. */
  async resolve(presented: string): Promise<string> {
    if (presented.split('.').length !== 3 || presented.startsWith('hv')) return presented
    return (await this.#options.signer.verify(presented)) ?? ''
  }

  /** The live wrapping token that was presented; 400 for anything else. */
  find(presented: string): TokenEntry {
    const entry = presented === '' ? undefined : this.#options.tokens.find(presented)
    if (!entry?.policies.includes(POLICY)) throw invalid(NOT_VALID)
    return entry
  }

  describe(entry: TokenEntry): { creation_ttl: number; creation_time: string; creation_path: string } {
    const record = this.#read(entry)
    return {
      creation_ttl: wholeSeconds(record.ttlSeconds),
      creation_time: record.creationTime,
      creation_path: record.creationPath,
    }
  }

  /** Hands the kept answer out and ends the token. `isUsed`: the pipeline has already taken the one use. */
  async unwrap(entry: TokenEntry, isUsed: boolean): Promise<WrappedRecord> {
    const record = this.#read(entry)
    if (!isUsed && (await this.#options.tokens.use(entry)) === 'spent') throw invalid(NOT_VALID)
    await this.#options.tokens.revokeTree(entry)
    return record
  }

  async rewrap(entry: TokenEntry): Promise<WrapInfo> {
    const record = await this.unwrap(entry, false)
    return this.keep({
      namespace: entry.namespace,
      creationPath: record.creationPath,
      wrap: { ttlSeconds: record.ttlSeconds, format: 'token' },
      status: record.status,
      contentType: record.contentType,
      body: record.body,
      wrappedAccessor: '',
    })
  }

  #read(entry: TokenEntry): WrappedRecord {
    const record = readJson<WrappedRecord>(this.#options.cubbyhole, `${entry.storageId}/${RECORD}`)
    if (!record) throw new LogicalError('invalid-request', NOT_VALID)
    return record
  }
}

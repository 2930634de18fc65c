import { wholeSeconds } from '../../base/duration.js'
import type { Clock } from '../../base/clock.js'
import { yieldToEventLoop } from '../../base/turn.js'
import { LogicalError, invalid } from '../../logical/errors.js'
import { renderBody } from '../../logical/envelope.js'
import type { NamespaceRef, Request, Response, TokenView, WrapInfo, WrapRequest } from '../../logical/request.js'
import type { Storage } from '../../logical/storage.js'
import { readJson } from '../../logical/storage.js'
import type { TokenEntry, TokenStore } from '../tokens/tokens.js'

/** A wrapped response, stored in the cubbyhole of the wrapping token and deleted with it. */
interface WrappedRecord {
  readonly ttlSeconds: number
  readonly creationTime: string
  readonly creationPath: string
  readonly status: number
  readonly contentType: string
  readonly body: string
}

/** A body to store, with the properties of its wrapping token. */
interface WrappedContent extends Omit<WrappedRecord, 'ttlSeconds' | 'creationTime'> {
  readonly namespace: NamespaceRef
  readonly wrap: WrapRequest
  readonly wrappedAccessor: string
}

const RECORD = 'response'
const POLICY = 'response-wrapping'

export const notValid = (): LogicalError => invalid('wrapping token is not valid or does not exist')

const READ_WARNING =
  "Reading from 'cubbyhole/response' is deprecated. Please use sys/wrapping/unwrap to unwrap responses, as it provides additional security checks and other benefits."

/**
 * Returns a wrapped response as text, which older clients read from the token's cubbyhole; undefined for other tokens.
 */
export const presentWrapped = (token: TokenView | undefined, path: string, value: Buffer): Response | undefined => {
  if (path !== RECORD || !token?.policies.includes(POLICY)) return undefined
  const { body } = JSON.parse(value.toString('utf8')) as WrappedRecord
  return { data: { response: body }, warnings: [READ_WARNING] }
}

/**
 * Signs and verifies the JWT form of wrapping tokens. A JWT does not contain the token: the token ID is derived from
 * the name in the JWT, with a key that stays in the replication set. Without a valid signature, the name is therefore
 * useless.
 */
export interface WrappingSigner {
  /** Returns a new name and its token ID, without the namespace suffix. */
  newName(namespaceId: string): { readonly name: string; readonly tokenId: string }
  sign(claims: { readonly name: string; readonly ttlSeconds: number }): Promise<string>
  /** Returns the token ID; undefined if the text is not a valid, unexpired JWT of this cluster. */
  verify(jwt: string): Promise<string | undefined>
}

interface WrappingOptions {
  readonly tokens: TokenStore
  /** The storage of the keys below `cubbyhole/`. */
  readonly cubbyhole: Storage
  readonly signer: WrappingSigner
  readonly clock: Clock
}

/** Response wrapping: stores a response under a single-use token, and returns it once to the holder of that token. */
export class Wrapping {
  readonly #options: WrappingOptions

  constructor(options: WrappingOptions) {
    this.#options = options
  }

  /** Stores `response`, and returns the response with the wrapping token that replaces it. */
  async wrap(request: Request, response: Response, wrap: WrapRequest): Promise<Response> {
    const rendered = renderBody(request.id, response)
    await yieldToEventLoop(String(rendered.body).length)
    const wrapInfo = await this.store({
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

  /** Stores a body, such as the bundle that activates a secondary, and returns its wrapping token. */
  async store({ namespace, wrap, wrappedAccessor, ...content }: WrappedContent): Promise<WrapInfo> {
    const { tokens, signer, clock } = this.#options
    const creationTime = new Date(clock.now()).toISOString()
    const { ttlSeconds, format } = wrap
    const { creationPath } = content
    const text = JSON.stringify({ ttlSeconds, creationTime, ...content } satisfies WrappedRecord)
    await yieldToEventLoop(text.length)
    const named = format === 'jwt' ? signer.newName(namespace.id) : undefined
    const entry = await tokens.issueWrapping({
      id: named?.tokenId,
      ttlSeconds,
      creationPath,
      namespace,
      records: { [RECORD]: Buffer.from(text) },
    })
    return {
      token: named ? await signer.sign({ name: named.name, ttlSeconds }) : tokens.present(entry),
      accessor: entry.accessor,
      ttlSeconds,
      creationTime,
      creationPath,
      wrappedAccessor,
    }
  }

  /** Returns the token ID of a presented token or JWT. Returns any other text unchanged. */
  async resolve(presented: string): Promise<string> {
    if (presented.split('.').length !== 3 || presented.startsWith('hv')) return presented
    return (await this.#options.signer.verify(presented)) ?? presented
  }

  /** Returns why a text is not a valid wrapping token: 403 for an empty text, and 400 for any other text. */
  mistakeIn(presented: string): LogicalError | undefined {
    if (presented === '')
      return new LogicalError('permission-denied', 'error validating wrapping token: token is empty')
    return this.#options.tokens.find(presented)?.policies.includes(POLICY) ? undefined : notValid()
  }

  /** Returns a valid wrapping token. Throws the error of `mistakeIn` for any other text. */
  find(presented: string): TokenEntry {
    const entry = this.#options.tokens.find(presented)
    const mistake = this.mistakeIn(presented)
    if (mistake || !entry) throw mistake ?? notValid()
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

  /**
   * Returns the stored response and revokes the token. `isUsed` is true if the pipeline has already consumed the single
   * use. Rejects with LogicalError 400 for an invalid token.
   */
  async unwrap(entry: TokenEntry, isUsed: boolean): Promise<WrappedRecord> {
    const record = this.#read(entry)
    if (!isUsed && (await this.#options.tokens.use(entry)) === 'spent') throw notValid()
    await this.#options.tokens.revokeTree(entry)
    return record
  }

  async rewrap(entry: TokenEntry): Promise<WrapInfo> {
    const { ttlSeconds, creationTime: _, ...record } = await this.unwrap(entry, false)
    const wrap = { ttlSeconds, format: 'token' } as const
    return this.store({ ...record, namespace: entry.namespace, wrap, wrappedAccessor: '' })
  }

  #read(entry: TokenEntry): WrappedRecord {
    const record = readJson<WrappedRecord>(this.#options.cubbyhole, `${entry.storageId}/${RECORD}`)
    if (!record) throw notValid()
    return record
  }
}

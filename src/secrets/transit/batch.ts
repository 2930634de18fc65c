/**
 * Reads requests for one item or for a batch, and builds their responses. Each item of `batch_input` has the fields
 * that a request for one item has in its body.
 */
import { attempt } from '../../base/attempt.js'
import { findBase64Mistake } from '../../base/base64.js'
import { isJsonObject } from '../../base/json.js'
import { LIMITS } from '../../base/limits.js'
import { nextTurn } from '../../base/turn.js'
import type { Call } from '../../logical/backend.js'
import { invalid, LogicalError } from '../../logical/errors.js'
import { any, int } from '../../logical/fields.js'
import type { JsonObject, JsonValue } from '../../logical/json.js'
import type { Response } from '../../logical/request.js'

/** One item of a request. An absent field is undefined, 0 or empty. */
export interface Item {
  /** The position in the batch; 0 for a single item. */
  readonly index: number
  text(name: string): string | undefined
  number(name: string): number
  /** Returns the bytes of a base64 field. Throws LogicalError 400 for invalid base64. */
  bytes(name: string): Buffer
}

export interface Input {
  readonly isBatch: boolean
  readonly items: readonly Item[]
}

export const BATCH_FIELDS = {
  batch_input: any(
    'A list of objects, each with the parameters of one item. The same parameters outside of the list are ignored.',
  ),
  partial_failure_response_code: int('Status code of the response if only some items of a batch fail.', 400),
}

const item = (index: number, text: Item['text'], number: Item['number']): Item => ({
  index,
  text,
  number,
  bytes: (name) => decodeBase64(text(name) ?? ''),
})

/** The error texts for a missing field that each item of a batch must have. */
const MISSING = { plaintext: 'missing plaintext to encrypt', ciphertext: 'missing ciphertext to decrypt' } as const

type RequiredField = keyof typeof MISSING

/** Returns the items of a request. Throws LogicalError 400 for an invalid batch, or without a required field. */
export const readInput = (call: Pick<Call, 'values' | 'supplied'>, required?: RequiredField): Input => {
  if (call.supplied('batch_input') && call.values.batch_input !== null) {
    return { isBatch: true, items: readBatch(call.values.batch_input as JsonValue, required) }
  }
  if (required && !call.supplied(required)) throw invalid(MISSING[required])
  const single = item(
    0,
    (name) => (call.supplied(name) ? (call.values[name] as string) : undefined),
    (name) => (call.values[name] as number | undefined) ?? 0,
  )
  return { isBatch: false, items: [single] }
}

const refuse = (why: string) => invalid(`failed to parse batch input: ${why}`)

const readBatch = (value: JsonValue, required: RequiredField | undefined): Item[] => {
  if (!Array.isArray(value)) throw refuse(`source data must be an array or slice, got ${typeof value}`)
  if (value.length === 0) throw invalid('missing batch input to process')
  if (value.length > LIMITS.transitBatchItemsMax) throw refuse(`more than ${LIMITS.transitBatchItemsMax} items`)
  const objects = value.map((raw, index) => {
    if (!isJsonObject(raw)) throw refuse(`[${index}] expected a map, got '${typeof raw}'`)
    return raw
  })
  const mistakes = objects.flatMap((raw, index) => mistakesOf(raw, required).map((text) => `* '[${index}].${text}`))
  if (mistakes.length > 0) throw refuse(`${mistakes.length} error(s) decoding:\n\n${mistakes.join('\n')}`)
  return objects.map(readItem)
}

const TEXT_FIELDS = [
  'context',
  'ciphertext',
  'plaintext',
  'nonce',
  'associated_data',
  'reference',
  'input',
  'signature',
  'hmac',
] as const

const mistakesOf = (raw: JsonObject, required: RequiredField | undefined): string[] => {
  const unfit = (name: string, type: string) =>
    `${name}' expected type '${type}', got unconvertible type '${typeof raw[name]}'`
  return [
    ...(required && (raw[required] ?? null) === null ? [`${required}' ${MISSING[required]}`] : []),
    ...TEXT_FIELDS.filter((name) => typeof (raw[name] ?? '') !== 'string').map((name) => unfit(name, 'string')),
    ...(Number.isSafeInteger(Number(raw.key_version ?? 0)) ? [] : [unfit('key_version', 'int')]),
  ]
}

const readItem = (raw: JsonObject, index: number): Item =>
  item(
    index,
    (name) => (raw[name] as string | null | undefined) ?? undefined,
    (name) => Number(raw[name] ?? 0),
  )

type ItemData = Readonly<Record<string, unknown>>

interface Outcome {
  readonly data?: ItemData
  readonly error?: LogicalError
}

/**
 * The number of items in one turn of the event loop: many quick operations, or one slow operation with a private key.
 */
const SLICE = { quick: 64, slow: 1 } as const

/** Processes the items. In a batch, LogicalError 400 becomes the outcome of its item. All other errors are thrown. */
export const runItems = async (
  { isBatch, items }: Input,
  pace: keyof typeof SLICE,
  work: (item: Item) => ItemData,
): Promise<readonly Outcome[]> => {
  const outcomes: Outcome[] = []
  for (const [index, current] of items.entries()) {
    if (index > 0 && index % SLICE[pace] === 0) await nextTurn()
    try {
      outcomes.push({ data: work(current) })
    } catch (error) {
      if (!isBatch || !(error instanceof LogicalError) || error.code !== 'invalid-request') throw error
      outcomes.push({ error })
    }
  }
  return outcomes
}

/** Returns the response to a batch with the results and errors of its items. `unfinished` is added to each error. */
const batchResponse = (input: Input, outcomes: readonly Outcome[], unfinished: ItemData): Response => ({
  data: {
    batch_results: outcomes.map(({ data, error }, index) => ({
      ...(error ? { ...unfinished, error: error.message } : data),
      reference: input.items[index]?.text('reference') ?? '',
    })),
  },
})

/** Returns the response to a request. The response to a batch is 200 even if items failed. */
export const answerItems = (input: Input, outcomes: readonly Outcome[], unfinished: ItemData = {}): Response =>
  input.isBatch ? batchResponse(input, outcomes, unfinished) : { data: { ...outcomes[0]?.data } }

/**
 * Returns the response to a request. If items of a batch failed, the status is 400. If only some items failed, the
 * request can set another status.
 */
export const answerAllOrPart = (
  call: Pick<Call, 'values' | 'supplied'>,
  input: Input,
  outcomes: readonly Outcome[],
  unfinished: ItemData = {},
): Response => {
  const response = answerItems(input, outcomes, unfinished)
  const failed = outcomes.filter(({ error }) => error !== undefined).length
  if (failed === 0) return response
  const wanted = call.values.partial_failure_response_code as number
  const isPart = failed < outcomes.length && call.supplied('partial_failure_response_code')
  if (!isPart) return { ...response, status: 400 }
  if (wanted >= 200 && wanted <= 599) return { ...response, status: wanted }
  const warning = `invalid HTTP response code override from partial_failure_response_code: ${wanted}`
  return { ...response, status: 400, warnings: [warning] }
}

/**
 * Decodes standard base64 with padding, and ignores line breaks. Throws LogicalError 400 with `prefix` and the position
 * of the first error.
 */
export const decodeBase64 = (text: string, prefix = ''): Buffer => {
  const found = findBase64Mistake(text)
  if (found !== undefined) throw invalid(`${prefix}illegal base64 data at input byte ${found}`)
  return Buffer.from(text, 'base64')
}

/** Decodes the context of a request. Throws LogicalError 400 for invalid base64. */
export const decodeContext = (text: string): Buffer => {
  const bytes = attempt(() => decodeBase64(text))
  if (!bytes) throw invalid('failed to base64-decode context')
  return bytes
}

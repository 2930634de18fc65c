import { alternatives } from '../../../base/counted.js'
import { messageOf } from '../../../base/printable.js'
import { textsOfJson } from '../../../base/json-print.js'
import { type ApiAnswer, errorsOf } from '../../../client/api-client.js'
import type { ValueOf } from '../../documents/schema.js'
import { DrillFailure, type DrillContext, type DrillRequest } from './drill-context.js'
import { type ANSWER, type CallValue, durationOf } from './forms.js'
import { findMismatch } from './matcher.js'

/** Returns the first difference between a response and the expected response. */
const findDifference = (answer: ApiAnswer, wanted: ValueOf<typeof ANSWER> = {}): string | undefined => {
  const errors = errorsOf(answer)
  const received = `${answer.status}${errors.length > 0 ? ` ${errors.join('; ')}` : ''}`
  const statuses = wanted.status === undefined ? undefined : [wanted.status].flat()
  if (statuses && !statuses.includes(answer.status)) return `the response is ${received}, not ${alternatives(statuses)}`
  const { error, warning } = wanted
  if (error !== undefined) {
    if (answer.status < 400 || !errors.some((text) => text.includes(error)))
      return `the response is ${received}, without the error "${error}"`
  } else if (!statuses && answer.status >= 400) return `the response is ${received}, not a status below 400`
  const warnings = textsOfJson(answer.json?.warnings)
  if (warning !== undefined && !warnings.some((text) => text.includes(warning)))
    return `no warning contains "${warning}": ${warnings.join('; ') || 'the response has no warnings'}`
  const inBody = wanted.body === undefined ? undefined : findMismatch(answer.json, wanted.body)
  if (inBody !== undefined) return `in the body, ${inBody}`
  const inData = wanted.data === undefined ? undefined : findMismatch(answer.json?.data, wanted.data)
  return inData === undefined ? undefined : `in the data, ${inData}`
}

/**
 * Sends the request of a step. With `within`, repeats it until the response is as expected. Saves the variables of the
 * step. Returns the result as a sentence. Rejects with `DrillFailure` if the response is not as expected.
 */
export const makeCall = async (context: DrillContext, call: CallValue): Promise<string> => {
  const { expect, save = {}, within } = call
  const withinMs = within === undefined ? undefined : durationOf(within)
  const request: DrillRequest = { ...call, method: call.method ?? 'GET', patienceMs: withinMs }
  let answer = await context.send(request).catch((error: unknown) => {
    if (within === undefined) throw error
    return undefined
  })
  const what = `${request.method} ${request.path} on ${request.cluster}`
  let difference = answer ? findDifference(answer, expect) : 'no response'
  if (difference !== undefined && withinMs !== undefined) {
    const again = async () => {
      answer = await context.ask(request)
      difference = findDifference(answer, expect)
      return difference
    }
    await context.wait(`the expected response to ${what}`, again, withinMs)
  }
  if (difference !== undefined) throw new DrillFailure(`${what}: ${difference}`)
  for (const [name, path] of Object.entries(save)) {
    const value = valueAt(answer?.json, path)
    if (value === undefined)
      throw new DrillFailure(`${what}: the response has no value at ${path}, which "save" requires`)
    context.save(name, value)
  }
  return `${what} returned ${answer?.status}`
}

/** Returns the error of a step that was expected to fail, unless it is the expected error. */
export const findOtherError = (
  error: unknown,
  { status, contains }: { readonly status?: number; readonly contains?: string },
): string | undefined => {
  const text = messageOf(error)
  if (contains !== undefined && !text.includes(contains)) return `the error does not contain "${contains}": ${text}`
  const got = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined
  return status !== undefined && got !== status ? `the status of the error is not ${status}: ${text}` : undefined
}

/** Returns the value at a path such as `wrap_info.token` or `data.keys.0`. */
const valueAt = (value: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (inner, key) =>
        typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>)[key] : undefined,
      value,
    )

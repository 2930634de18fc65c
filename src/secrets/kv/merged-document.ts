/** Applies a patch to a stored document. The result is bounded like a whole write: patches could add up to any size. */
import { LIMITS } from '../../base/limits.js'
import { turnFor } from '../../base/turn.js'
import { Document, printDocument } from '../../logical/document.js'
import { LogicalError } from '../../logical/errors.js'
import type { JsonObject } from '../../logical/json.js'
import { scanJson } from '../../logical/json-scan.js'
import { printJson } from '../../base/json-print.js'
import { parseJson } from '../../logical/json-text.js'
import { mergePatch } from './merge-patch.js'

const bounded = (bytes: Buffer): Buffer => {
  if (bytes.length > LIMITS.bodyBytesMax) throw new LogicalError('body-too-large', 'the secret would become too large')
  scanJson(bytes, LIMITS.jsonValuesMax)
  return bytes
}

/** In one turn of the event loop. Fails with 413 and 400 for what is too large, or has too many members. */
export const mergeDocument = (text: string, changes: JsonObject): Buffer =>
  bounded(Buffer.from(printJson(mergePatch(parseJson(text), changes))))

/** Merges in several turns of the event loop, in which the stored text may be replaced. */
export const mergeInTurns = async (text: string, changes: JsonObject): Promise<Document> => {
  await turnFor(text.length)
  const value = parseJson(text)
  await turnFor(text.length)
  const bytes = (await printDocument(mergePatch(value, changes))).take()
  bounded(bytes)
  await turnFor(bytes.length)
  return new Document(bytes)
}

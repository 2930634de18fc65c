import { createJwtType } from '../../../../src/auth/jwt/backend.js'
import { LogicalError } from '../../../../src/logical/errors.js'
import { BackendHarness } from '../../../support/backend-harness.js'

/** Creates a mount. `documents` contains what it can fetch, by URL; the list of fetched URLs grows. */
export const makeJwt = (documents: Map<string, string> = new Map()) => {
  const fetched: string[] = []
  const fetch = async (url: string): Promise<Buffer> => {
    fetched.push(url)
    const text = documents.get(url)
    if (text === undefined) throw new LogicalError('unavailable', `GET ${url}: unreachable`)
    return Buffer.from(text)
  }
  return { harness: new BackendHarness(createJwtType({ fetch }).factory), documents, fetched }
}

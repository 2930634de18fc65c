/** sys/config/cors and sys/config/ui/headers: the headers of responses to web pages, and of the page of the server. */
import { type Call, definePath, listed, type PathSpec } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, commaList, stringList, string } from '../../logical/fields.js'
import { deleteKeys, putJson, readRecord, type Storage } from '../../logical/storage.js'

interface CorsRecord {
  readonly allowedOrigins: readonly string[]
  /** The headers that are allowed in addition to the standard headers. */
  readonly moreHeaders: readonly string[]
}

/** The headers that clients of Vault send. */
const STANDARD_HEADERS: readonly string[] = [
  ...['Content-Type', 'X-Requested-With', 'X-Vault-AWS-IAM-Server-ID', 'X-Vault-MFA', 'X-Vault-No-Request-Forwarding'],
  ...['X-Vault-Wrap-Format', 'X-Vault-Wrap-TTL', 'X-Vault-Policy-Override', 'Authorization', 'X-Vault-Token'],
]

const CORS = 'cors'
const HEADERS = 'page-headers'

type PageHeaders = Readonly<Record<string, readonly string[]>>

/** The settings for web pages. Reads the storage each time, so it has no cache. */
export class WebSettings {
  readonly storage: Storage

  /** `storage` contains the settings of this performance cluster for web pages. */
  constructor(storage: Storage) {
    this.storage = storage
  }

  get cors(): { allowedOrigins: readonly string[]; allowedHeaders: readonly string[] } | undefined {
    const record = readRecord<CorsRecord>(this.storage, CORS)
    if (!record) return undefined
    const { allowedOrigins, moreHeaders } = record
    return { allowedOrigins, allowedHeaders: [...new Set([...STANDARD_HEADERS, ...moreHeaders])] }
  }

  get headers(): PageHeaders {
    return readRecord<PageHeaders>(this.storage, HEADERS) ?? {}
  }

  /** The headers with all their values in one text. */
  get pageHeaders(): Record<string, string> {
    return Object.fromEntries(Object.entries(this.headers).map(([name, values]) => [name, values.join(', ')]))
  }
}

const CORS_FIELDS = {
  allowed_origins: commaList('Origins that may send requests, or * for all origins.', { isRequired: true }),
  allowed_headers: commaList('Headers that requests may have, in addition to the standard headers.'),
}
const HEADER_FIELDS = {
  header: string('Name of the header.'),
  values: stringList('Values of the header.', { isRequired: true }),
  multivalue: bool('Whether a read returns all values.'),
}

export const webPaths = (web: WebSettings): PathSpec[] => [
  definePath('config/cors', CORS_FIELDS, 'Read, change or remove the rules for requests of web pages.', {
    read: () => ({ data: describe(web) }),
    update: async ({ values: { allowed_origins: allowedOrigins, allowed_headers: moreHeaders } }) => {
      if (allowedOrigins.length === 0) throw invalid('at least one origin or the wildcard must be provided')
      if (allowedOrigins.length > 1 && allowedOrigins.includes('*'))
        throw invalid("to allow all origins the '*' must be the only value for allowed_origins")
      for (const text of [...allowedOrigins, ...moreHeaders]) requirePrintable(text)
      await web.storage.write((tx) => putJson(tx, CORS, { allowedOrigins, moreHeaders } satisfies CorsRecord))
      return undefined
    },
    delete: () => deleteKeys(web.storage, [CORS]).then(() => undefined),
    mirror: true,
  }),
  definePath('config/ui/headers/?', {}, 'List the headers of the page of the server.', {
    list: () => listed(Promise.resolve(Object.keys(web.headers).sort())),
  }),
  definePath('config/ui/headers/:header', HEADER_FIELDS, 'Read, change or remove a header of the page of the server.', {
    read: ({ values: { header, multivalue } }) => {
      const found = web.headers[canonical(header)]
      return found && { data: multivalue ? { values: found } : { value: found[0] ?? '' } }
    },
    update: ({ values: { header, values } }: Call<typeof HEADER_FIELDS>) => {
      requireHeader(header)
      if (values.length === 0) throw invalid('header and values must be specified')
      for (const value of values) requirePrintable(value)
      return change(web, header, values).then(() => ({}))
    },
    delete: ({ values: { header } }) => change(web, header, undefined),
  }),
]

const describe = ({ cors }: WebSettings) =>
  cors
    ? { enabled: true, allowed_origins: cors.allowedOrigins, allowed_headers: cors.allowedHeaders }
    : { enabled: false }

const change = async (web: WebSettings, header: string, values: readonly string[] | undefined): Promise<undefined> => {
  const name = canonical(header)
  await web.storage.write((tx) => {
    const { [name]: _, ...others } = readRecord<PageHeaders>(tx, HEADERS) ?? {}
    putJson(tx, HEADERS, values ? { ...others, [name]: values } : others)
  })
}

/** Returns a header name in its usual spelling, such as `X-Custom`. */
const canonical = (name: string): string =>
  name.toLowerCase().replace(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase())

/** Headers that describe the connection or the length of the body, which the server sets itself. */
const FRAMING = /^(?:connection|content-length|content-type|date|keep-alive|trailer|transfer-encoding|upgrade)$/i

const requireHeader = (name: string): void => {
  if (/^x-vault-/i.test(name)) throw invalid('X-Vault headers cannot be set')
  if (FRAMING.test(name)) throw invalid(`the server sets the header ${JSON.stringify(name)} itself`)
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw invalid(`${JSON.stringify(name)} is not the name of a header`)
}

const requirePrintable = (text: string): void => {
  if (!/^[\x20-\x7e]+$/.test(text)) throw invalid(`${JSON.stringify(text)} cannot be the value of a header`)
}

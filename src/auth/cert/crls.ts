/** Revocation lists. `crls/<name>` contains the serial numbers of a list, which count for every issuer. */
import { readRevokedSerials } from '../../crypto/certificate-facts.js'
import { type BackendContext, type Call, definePath, listed, type PathSpec, shown } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { string } from '../../logical/fields.js'
import { putJson, readRecord, type ReadStorage, type Storage } from '../../logical/storage.js'

interface Crl {
  /** In decimal. */
  readonly serials: readonly string[]
}

const CRL_PREFIX = 'crls/'

const CRL_FIELDS = {
  name: string('Name of the revocation list, case-insensitive.'),
  crl: string('The revocation list in PEM.'),
  url: string('Not supported: upload the list.'),
} as const

const keyOf = (name: string): string => CRL_PREFIX + name.toLowerCase()
const findCrl = (storage: ReadStorage, name: string): Crl | undefined => readRecord<Crl>(storage, keyOf(name))

/** Returns the serial numbers of all lists. */
export const readRevoked = async (storage: Storage): Promise<ReadonlySet<string>> => {
  const names = await storage.list(CRL_PREFIX)
  return new Set(names.flatMap((name) => findCrl(storage, name)?.serials ?? []))
}

export const crlPaths = ({ storage }: BackendContext): PathSpec[] => {
  const write = async ({ values }: Call<typeof CRL_FIELDS>): Promise<undefined> => {
    if (values.url !== '' && values.crl === '') {
      throw invalid('"url" is not supported by this server: upload the revocation list as "crl"')
    }
    if (values.crl === '') throw invalid('"crl" must be provided')
    const serials = await readRevokedSerials(values.crl).catch((cause: Error) => {
      throw invalid(`failed to parse CRL: ${cause.message}`)
    })
    return storage.write((tx) => void putJson(tx, keyOf(values.name), { serials } satisfies Crl))
  }
  return [
    definePath('crls/?', {}, 'List the revocation lists.', { list: () => listed(storage.list(CRL_PREFIX)) }),
    definePath('crls/:name', CRL_FIELDS, 'Read, write or delete a revocation list.', {
      read: ({ values }) =>
        shown(findCrl(storage, values.name), ({ serials }) => ({
          serials: Object.fromEntries(serials.map((serial) => [serial, {}])),
        })),
      update: write,
      delete: ({ values }) => storage.write((tx) => void tx.delete(keyOf(values.name))),
    }),
  ]
}

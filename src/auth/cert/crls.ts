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

/** Reads all lists. Returns a function that returns true if one of them contains a serial number in decimal. */
export const readRevoked = async (storage: Storage): Promise<(serial: string) => boolean> => {
  const names = await storage.list(CRL_PREFIX)
  const lists = names.flatMap((name) => findCrl(storage, name) ?? [])
  // A login looks the same certificate up once for each role, and a list can have many thousand entries.
  const known = new Map<string, boolean>()
  return (serial) => {
    const isRevoked = known.get(serial) ?? lists.some(({ serials }) => serials.includes(serial))
    known.set(serial, isRevoked)
    return isRevoked
  }
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

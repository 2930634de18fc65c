/** Revocation lists. `crls/<name>` contains the serial numbers of a list, which count for every issuer. */
import { readRevokedSerials } from '../../crypto/x509-crl.js'
import { type BackendContext, type Call, definePath, listed, type PathSpec } from '../../logical/backend.js'
import { explaining, invalid } from '../../logical/errors.js'
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

/** The serial numbers of each list that a login has used. A changed list is another object. */
const SERIALS = new WeakMap<Crl, ReadonlySet<string>>()

const serialsOf = (list: Crl): ReadonlySet<string> => {
  const serials = SERIALS.get(list) ?? new Set(list.serials)
  SERIALS.set(list, serials)
  return serials
}

/** Reads all lists. Returns a function that returns true if one of them contains a serial number in decimal. */
export const readRevoked = async (storage: Storage): Promise<(serial: string) => boolean> => {
  const names = await storage.list(CRL_PREFIX)
  const lists = names.flatMap((name) => findCrl(storage, name) ?? [])
  return (serial) => lists.some((list) => serialsOf(list).has(serial))
}

export const crlPaths = ({ storage }: BackendContext): PathSpec[] => {
  const write = async ({ values, supplied }: Call<typeof CRL_FIELDS>): Promise<undefined> => {
    if (values.url !== '' && values.crl === '') {
      throw invalid('"url" is not supported by this server: upload the revocation list as "crl"')
    }
    if (!supplied('crl')) throw invalid("one of 'crl' or 'url' must be provided")
    const serials = explaining('failed to parse CRL', () => readRevokedSerials(values.crl))
    return storage.write((tx) => void putJson(tx, keyOf(values.name), { serials } satisfies Crl))
  }
  const requireCrl = (name: string): Crl => {
    const list = findCrl(storage, name)
    if (!list) throw invalid(`no such CRL ${name.toLowerCase()}`)
    return list
  }
  return [
    definePath('crls/?', {}, 'List the revocation lists.', { list: () => listed(storage.list(CRL_PREFIX)) }),
    definePath('crls/:name', CRL_FIELDS, 'Read, write or delete a revocation list.', {
      read: ({ values }) => {
        const { serials } = requireCrl(values.name)
        return { data: { cdp: null, serials: Object.fromEntries(serials.map((serial) => [serial, {}])) } }
      },
      update: write,
      delete: ({ values }) => {
        requireCrl(values.name)
        return storage.write((tx) => void tx.delete(keyOf(values.name)))
      },
    }),
  ]
}

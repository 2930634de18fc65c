import { mapWith, type ValueOf } from '../documents/schema.js'
import { nodeAt, readDocument, readDocumentFile, refuseProblems } from '../documents/yaml-document.js'
import type { ClusterAccess } from '../model/cluster.js'

/** The addresses file: names and addresses of existing clusters, for written runbooks. It contains no secrets. */

/** Characters of a value. Control characters and line ends could add lines to a runbook. */
const NO_CONTROL = '(?!.*[\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029])'

const url = (title: string) => ({ type: 'string', pattern: `^${NO_CONTROL}https?://[^\\s/?#]+/?$`, title }) as const

const CLUSTER = mapWith(
  {
    name: {
      type: 'string',
      pattern: '^[A-Za-z][A-Za-z0-9-]*$',
      title: 'a name of letters, digits and hyphens, which starts with a letter',
    },
    'api-address': url('an address such as https://vault-a.example.com:8200'),
    'cluster-address': url('an address such as https://vault-a.example.com:8201'),
    'ca-file': { type: 'string', pattern: `^${NO_CONTROL}.+$`, title: 'a file name without control characters' },
    namespace: {
      type: 'string',
      pattern: `^${NO_CONTROL}[^\\s]*$`,
      title: 'a namespace, or empty for the root namespace',
    },
    'key-threshold': { type: 'integer', minimum: 1, maximum: 255 },
  },
  ['name', 'api-address'],
)

const ADDRESSES = mapWith(
  {
    apiVersion: { type: 'string', const: 'understudy/v1' },
    clusters: { type: 'array', minItems: 2, items: CLUSTER },
  },
  ['clusters'],
)

/** The number of key shares that `vault operator init` requires by default. */
const DEFAULT_THRESHOLD = 3

/** Reads an addresses file. Throws LabError `usage` with one line per problem. */
export const readAddresses = (file: string): readonly ClusterAccess[] => parseAddresses(readDocumentFile(file), file)

export const parseAddresses = (text: string, file: string): readonly ClusterAccess[] => {
  const { document, value } = readDocument(text, file, ADDRESSES)
  const { clusters } = value as ValueOf<typeof ADDRESSES>
  const names = clusters.map(({ name }) => name.toLowerCase())
  const repeated = names.flatMap((name, at) => (names.indexOf(name) === at ? [] : [at]))
  refuseProblems(
    file,
    repeated.map((at) => ({
      ...document.placeOf(nodeAt(document, ['clusters', at, 'name'])),
      text: `clusters[${at}].name is "${clusters[at]?.name}", which another cluster has: choose another name (ignoring case)`,
    })),
  )
  return clusters.map((cluster) =>
    toWritten({
      name: cluster.name,
      apiAddress: withoutSlash(cluster['api-address']),
      caFile: cluster['ca-file'],
      threshold: cluster['key-threshold'] ?? DEFAULT_THRESHOLD,
      clusterAddress: withoutSlash(cluster['cluster-address'] ?? ''),
      namespace: cluster.namespace ?? '',
    }),
  )
}

const withoutSlash = (address: string): string => address.replace(/\/$/, '')

interface Addresses extends Pick<ClusterAccess, 'name' | 'apiAddress' | 'caFile' | 'threshold'> {
  readonly clusterAddress?: string
  readonly namespace?: string
}

/** Returns a cluster for a written runbook: without keys and tokens, which shell variables replace. */
export const toWritten = (cluster: Addresses): ClusterAccess => {
  const { name, apiAddress, caFile, threshold, clusterAddress = '', namespace = '' } = cluster
  const tokenVariable = `TOKEN_${name.toUpperCase().replaceAll('-', '_')}`
  const written = { namespace, tokenVariable, clusterAddress }
  return { name, apiAddress, caFile, threshold, rootToken: '', unsealKeys: [], written }
}

/** The paths random and hash, which require no key. They exist in transit and in `sys/tools`. */
import { type BackendContext, definePaths, type PathSpec } from '../../logical/backend.js'
import { LIMITS } from '../../base/limits.js'
import { hashBytes } from '../../crypto/digest.js'
import { invalid } from '../../logical/errors.js'
import { int, string } from '../../logical/fields.js'
import { decodeBase64 } from './batch.js'
import { DEFAULT_HASH, findHash } from './signing.js'

const RANDOM_FIELDS = {
  urlbytes: string('Number of bytes, as the last part of the path.'),
  source: string('Entropy source: platform, seal or all. All of them are the platform here.', 'platform'),
  bytes: int('Number of bytes.', 32),
  format: string('Encoding: hex or base64.', 'base64'),
} as const

const HASH_FIELDS = {
  urlalgorithm: string('Hash algorithm, as the last part of the path.'),
  algorithm: string('Hash algorithm.', DEFAULT_HASH),
  input: string('Input in base64.'),
  format: string('Encoding: hex or base64.', 'hex'),
} as const

/** Creates the paths below `prefix`, which is empty or ends with a slash. */
export const toolPaths = ({ random }: Pick<BackendContext, 'random'>, prefix = ''): PathSpec[] => [
  ...definePaths(
    [`${prefix}random`, `${prefix}random/:urlbytes`, `${prefix}random/:source/:urlbytes`],
    RANDOM_FIELDS,
    'Random bytes.',
    {
      update: ({ values }) => {
        const [source, count] = SOURCES.has(values.urlbytes) ? [values.urlbytes, ''] : [values.source, values.urlbytes]
        const bytes = count === '' ? values.bytes : parseCount(count)
        if (bytes < 1) throw invalid('"bytes" cannot be less than 1')
        if (bytes > LIMITS.transitRandomBytesMax)
          throw invalid(`"bytes" should be less than ${LIMITS.transitRandomBytesMax}`)
        const format = parseFormat(values.format, `"${values.format}"`)
        if (source !== '' && !SOURCES.has(source))
          throw invalid(`unsupported entropy source "${source}"; must be "platform" or "seal", or "all"`)
        const data = { random_bytes: random.bytes(bytes).toString(format) }
        return source === 'seal' ? { data, warnings: [NO_SEAL_ENTROPY] } : { data }
      },
    },
  ),
  ...definePaths([`${prefix}hash`, `${prefix}hash/:urlalgorithm`], HASH_FIELDS, 'Compute the hash of an input.', {
    update: ({ values, supplied }) => {
      const name = values.urlalgorithm || values.algorithm
      if (!supplied('input')) throw invalid('input missing')
      const input = decodeBase64(values.input, 'unable to decode input as base64: ')
      const algorithm = name === 'sha1' ? undefined : findHash(name)
      if (!algorithm) throw invalid(`unsupported algorithm ${name}`)
      const format = parseFormat(values.format, values.format)
      return { data: { sum: hashBytes(algorithm, input).toString(format) } }
    },
  }),
]

/** The warning of Vault without entropy augmentation. */
const NO_SEAL_ENTROPY = 'no seal/entropy augmentation available, using platform entropy source'

const SOURCES: ReadonlySet<string> = new Set(['platform', 'seal', 'all'])

const parseCount = (text: string): number => {
  if (!/^-?\d{1,9}$/.test(text))
    throw invalid(`error parsing url-set byte count: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`)
  return Number(text)
}

/** Returns a valid format. `shown` is the format in the error text, which the paths write differently. */
const parseFormat = (format: string, shown: string): 'hex' | 'base64' => {
  if (format === 'hex' || format === 'base64') return format
  throw invalid(`unsupported encoding format ${shown}; must be "hex" or "base64"`)
}

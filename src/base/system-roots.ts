import { attempt } from './attempt.js'
import { X509Certificate } from 'node:crypto'
import { readdirSync, readlinkSync } from 'node:fs'
import path from 'node:path'
import { type ConnectionOptions, createSecureContext, rootCertificates, type SecureContext } from 'node:tls'
import { isUnfitFile, readListedText, readNamedText } from './named-file.js'
import { RecentCache } from './recent-cache.js'
import { remembered } from './remembered.js'

/** The files in which operating systems store their certificate authorities. The first readable file is used. */
const BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt', // Debian, Ubuntu
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem', // RHEL 7 and later
  '/etc/pki/tls/certs/ca-bundle.crt', // RHEL 6, Fedora
  '/etc/ssl/ca-bundle.pem', // openSUSE
  '/etc/ssl/cert.pem', // Alpine, macOS
]
/** Directories with one certificate authority per file. All of them are read. */
const DIRECTORIES = ['/etc/ssl/certs', '/etc/pki/tls/certs']

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
/** The size of one cache generation, for lists of authorities and for TLS contexts. */
const CACHED = 2

/**
 * The environment variables that name certificate authorities. The first two replace the locations of the operating
 * system. The third is a variable of Node.
 */
type Environment = Readonly<Partial<Record<'SSL_CERT_FILE' | 'SSL_CERT_DIR' | 'NODE_EXTRA_CA_CERTS', string>>>

/**
 * Returns the authorities (PEM) that a TLS client trusts by default: Node's, those of the operating system, and
 * `NODE_EXTRA_CA_CERTS`. `SSL_CERT_FILE` (a file) and `SSL_CERT_DIR` (directories, separated by colons) replace the
 * locations of the operating system. Skips unreadable files. Throws an error that names the variable if its file is a
 * pipe or a device, or too large.
 */
export const readSystemRoots = (env: Environment): readonly string[] => {
  const directories = env.SSL_CERT_DIR ? env.SSL_CERT_DIR.split(':') : DIRECTORIES
  const bundle = env.SSL_CERT_FILE
    ? readVariable('SSL_CERT_FILE', env.SSL_CERT_FILE)
    : BUNDLES.map(readListed).find((text) => text !== undefined)
  const extra = env.NODE_EXTRA_CA_CERTS && readVariable('NODE_EXTRA_CA_CERTS', env.NODE_EXTRA_CA_CERTS)
  const texts = [bundle, extra, ...directories.flatMap(listFiles).map(readListed)]
  const roots = new Map(rootCertificates.map((pem) => [withoutSpace(pem), pem]))
  for (const pem of texts.flatMap((text) => text?.match(CERTIFICATE) ?? [])) {
    const name = withoutSpace(pem)
    if (!roots.has(name) && isCertificate(pem)) roots.set(name, pem)
  }
  return [...roots.values()]
}

const lists = new RecentCache<readonly string[]>(CACHED)
const contexts = new RecentCache<SecureContext>(CACHED)

const ownEnvironment = (): Environment => {
  const { SSL_CERT_FILE = '', SSL_CERT_DIR = '', NODE_EXTRA_CA_CERTS = '' } = process.env
  return { SSL_CERT_FILE, SSL_CERT_DIR, NODE_EXTRA_CA_CERTS }
}

/** Returns `readSystemRoots` for the environment of this process. Reads the files only at the first call. */
export const systemRoots = (): readonly string[] => {
  const env = ownEnvironment()
  return remembered(lists, JSON.stringify(env), () => readSystemRoots(env))
}

/** The trusted certificate authorities and the client certificate of a TLS client, in PEM. */
export interface TlsTrust {
  /** If empty, the client trusts `systemRoots`. */
  readonly caPems: readonly string[]
  /** If empty, the client presents no certificate. */
  readonly clientCertPem?: string | undefined
  readonly clientKeyPem?: string | undefined
  readonly skipVerify?: boolean | undefined
}

/**
 * Returns the options of a TLS connection. Caches the TLS context, because its creation with all authorities takes
 * longer than a connection.
 */
export const trustOf = ({ caPems, clientCertPem, clientKeyPem, skipVerify }: TlsTrust): ConnectionOptions => {
  const client = clientCertPem ? { cert: clientCertPem, key: clientKeyPem } : {}
  if (skipVerify) return { ...client, rejectUnauthorized: false }
  if (caPems.length > 0) return { ...client, ca: [...caPems] }
  const make = () => createSecureContext({ ...client, ca: [...systemRoots()] })
  return { secureContext: remembered(contexts, JSON.stringify([ownEnvironment(), client]), make) }
}

const withoutSpace = (pem: string): string => pem.replace(/\s/g, '')

const isCertificate = (pem: string): boolean => attempt(() => new X509Certificate(pem)) !== undefined

const readVariable = (name: keyof Environment, file: string): string | undefined => {
  try {
    return readNamedText(file)
  } catch (error) {
    if (isUnfitFile(error)) throw new Error(`${name}: ${error.message}`, { cause: error })
    return undefined
  }
}

const readListed = (file: string): string | undefined => attempt(() => readListedText(file))

/**
 * Returns the files of a directory. Skips links to files of the same directory, which are the same authorities under
 * other names.
 */
const listFiles = (directory: string): string[] => {
  const found = attempt(() =>
    readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isFile() || entry.isSymbolicLink())
      .map((entry) => ({ file: path.join(directory, entry.name), isLink: entry.isSymbolicLink() }))
      .filter(({ file, isLink }) => !isLink || readlinkSync(file).includes('/'))
      .map(({ file }) => file),
  )
  return found ?? []
}

/** The certificate authority of a mount: one key, which signs all certificates. */
import type { KeyObject } from 'node:crypto'
import { type MakePrivateKey, privateKeyOf } from '../../crypto/key-pairs.js'
import { type BackendContext, type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { requirePrimary } from '../../logical/decided-by-primary.js'
import { explaining, invalid } from '../../logical/errors.js'
import { bool, int, string } from '../../logical/fields.js'
import { Records } from '../../logical/records.js'
import { pairKindOf, parsePrivateKey, parsePublicKey, publicLineOf } from './keys.js'

const FIELDS = {
  private_key: string('Private key of the authority.', '', { isSecret: true }),
  public_key: string('Public key of the authority.'),
  generate_signing_key: bool('Generates the key. Default: true if neither key is given.', true),
  key_type: string('Type of a generated key: ssh-rsa, ec, ed25519 or ecdsa-sha2-nistp256, -384, -521.', 'ssh-rsa'),
  key_bits: int('Number of bits of a generated key; 0 means the default of the type.'),
} as const

interface AuthorityRecord {
  /** PKCS 8 DER in Base64. */
  readonly privateKey: string
  readonly publicKey: string
}

const NAME = 'ca'

export class Authority {
  readonly #context: BackendContext
  readonly #records: Records<AuthorityRecord>
  readonly #makePrivateKey: MakePrivateKey

  constructor(context: BackendContext, makePrivateKey: MakePrivateKey) {
    this.#context = context
    this.#records = new Records(context, 'config/')
    this.#makePrivateKey = makePrivateKey
  }

  /** Returns the private key. Throws LogicalError 400 if the authority has no key. */
  requireKey(): KeyObject {
    const record = this.#records.find(NAME)
    if (!record) throw invalid('failed to read CA private key')
    return privateKeyOf(Buffer.from(record.privateKey, 'base64'))
  }

  paths(): PathSpec[] {
    return [
      definePath('config/ca', FIELDS, 'Set, read or delete the key of the certificate authority.', {
        update: async (call) => {
          requirePrimary(this.#context)
          const isGenerated = decidesToGenerate(call)
          const record = isGenerated ? await this.#generate(call) : givenRecord(call)
          await this.#records.update(NAME, (before) => {
            requireAbsent(before)
            return record
          })
          return isGenerated ? { data: { public_key: record.publicKey } } : undefined
        },
        read: () => {
          const record = this.#records.find(NAME)
          if (!record) throw invalid("keys haven't been configured yet")
          return { data: { public_key: record.publicKey } }
        },
        delete: () => this.#records.remove(NAME),
      }),
      definePath('public_key', {}, 'Read the public key of the certificate authority, without a token.', {
        read: () => {
          const record = this.#records.find(NAME)
          return record && { raw: { contentType: 'text/plain', body: record.publicKey } }
        },
      }),
    ]
  }

  async #generate({ values }: Call<typeof FIELDS>): Promise<AuthorityRecord> {
    requireAbsent(this.#records.find(NAME))
    const bytes = await this.#makePrivateKey(pairKindOf(values.key_type, values.key_bits))
    return { privateKey: bytes.toString('base64'), publicKey: publicLineOf(privateKeyOf(bytes)) }
  }
}

const requireAbsent = (record: AuthorityRecord | undefined): void => {
  if (record) throw invalid('keys are already configured; delete them before reconfiguring')
}

/** Returns whether the request asks for a new key. Throws LogicalError 400 if it contradicts itself. */
const decidesToGenerate = ({ values, supplied }: Call<typeof FIELDS>): boolean => {
  const { private_key: privateKey, public_key: publicKey, generate_signing_key: generates } = values
  if (!supplied('generate_signing_key')) {
    if ((privateKey === '') === (publicKey === '')) return privateKey === ''
    throw invalid(
      'only one of public_key and private_key set; both must be set to use, or both must be blank to auto-generate',
    )
  }
  if (generates && (privateKey !== '' || publicKey !== '')) {
    throw invalid('public_key and private_key must not be set when generate_signing_key is set to true')
  }
  if (!generates && publicKey === '') throw invalid('missing public_key')
  if (!generates && privateKey === '') throw invalid('missing private_key')
  return generates
}

const givenRecord = ({ values }: Call<typeof FIELDS>): AuthorityRecord => {
  const key = explaining('Unable to parse private_key as an SSH private key', () => parsePrivateKey(values.private_key))
  explaining('Unable to parse public_key as an SSH public key', () => parsePublicKey(values.public_key))
  const bytes = key.export({ format: 'der', type: 'pkcs8' })
  return { privateKey: bytes.toString('base64'), publicKey: values.public_key }
}

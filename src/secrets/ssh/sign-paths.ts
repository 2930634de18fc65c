/** Certificates: for a key of the client, or for a new key. */
import { sha256Hex } from '../../crypto/digest.js'
import { type MakePrivateKey, privateKeyOf } from '../../crypto/key-pairs.js'
import { type BackendContext, type Call, definePath, type PathSpec } from '../../logical/backend.js'
import { explaining, invalid } from '../../logical/errors.js'
import { duration, type FieldTable, int, pairs, string } from '../../logical/fields.js'
import { IdentityTemplates } from '../../logical/identity-templates.js'
import type { Response } from '../../logical/request.js'
import type { Authority } from './authority.js'
import { CERTIFICATE_TYPES, type CertificateType, signCertificate } from './certificates.js'
import { pairKindOf, parsePublicKey, privateTextOf, type PublicKey, publicLineOf } from './keys.js'
import { allowedPrincipals, checkKeyLength, chosenOptions } from './request-rules.js'
import type { Role, Roles } from './role-paths.js'

const COMMON = {
  role: string('Name of the role.'),
  ttl: duration('TTL of the certificate.'),
  valid_principals: string('Users or hosts, separated by commas.'),
  cert_type: string('Type of the certificate: user or host.', 'user'),
  key_id: string('Key ID of the certificate.'),
  critical_options: pairs('Critical options.'),
  extensions: pairs('Extensions.'),
} as const
const SIGN_FIELDS = { ...COMMON, public_key: string('Public key to sign.') } as const
const ISSUE_FIELDS = {
  ...COMMON,
  key_type: string('Type of the new key: rsa, ec or ed25519.', 'rsa'),
  key_bits: int('Number of bits of the new key; 0 means the default of the type.'),
} as const satisfies FieldTable

interface SignPathsOptions {
  readonly context: BackendContext
  readonly authority: Authority
  readonly roles: Roles
  readonly makePrivateKey: MakePrivateKey
}

export const signPaths = ({ context, authority, roles, makePrivateKey }: SignPathsOptions): PathSpec[] => {
  const { clock, mount, random } = context

  const decideTtl = (role: Role, requested: number): number => {
    const maximum = role.max_ttl || mount.maxLeaseTtlSeconds
    if (requested > maximum) throw invalid(`ttl is larger than maximum allowed ${maximum}`)
    return Math.min(requested || role.ttl || mount.defaultLeaseTtlSeconds, maximum)
  }

  const decideKeyId = ({ request, values }: Call<typeof COMMON>, role: Role, publicKey: PublicKey): string => {
    if (values.key_id !== '' && !role.allow_user_key_ids) throw invalid('setting key_id is not allowed by role')
    if (values.key_id !== '') return values.key_id
    const replacements: Readonly<Record<string, string>> = {
      '{{token_display_name}}': request.token?.displayName ?? '',
      '{{role_name}}': values.role,
      '{{public_key_hash}}': sha256Hex(publicKey.blob),
    }
    return (role.key_id_format || DEFAULT_KEY_ID).replace(/\{\{\w+\}\}/g, (name) => replacements[name] ?? name)
  }

  /** Signs a public key. */
  const sign = (call: Call<typeof COMMON>, role: Role, publicKey: PublicKey): Record<string, unknown> => {
    const { request, values } = call
    const type = parseType(values.cert_type)
    if (!isTypeAllowed(role, type)) throw invalid(`cert_type '${type}' is not allowed by role`)
    const templates = new IdentityTemplates(context, request)
    const principals = allowedPrincipals(role, { type, requested: values.valid_principals, templates })
    const ttlSeconds = decideTtl(role, values.ttl)
    const keyId = decideKeyId(call, role, publicKey)
    const options = chosenOptions(role, values, templates)
    const serial = random.bytes(8).readBigUInt64BE()
    const nowSeconds = Math.floor(clock.now() / 1000)
    const validAfterSeconds = Math.max(0, nowSeconds - role.not_before_duration)
    const validBeforeSeconds = nowSeconds + ttlSeconds
    const content = { publicKey, type, serial, keyId, principals, validAfterSeconds, validBeforeSeconds, ...options }
    const signing = { authority: authority.requireKey(), signer: role.algorithm_signer, nonce: random.bytes(32) }
    return { serial_number: serial.toString(16), signed_key: signCertificate(content, signing) }
  }

  return [
    definePath('sign/:role', SIGN_FIELDS, 'Sign a public key.', {
      update: (call): Response => {
        const { values } = call
        const role = roles.find(values.role)
        if (!role) throw invalid(`Unknown role: ${values.role}`)
        if (values.public_key === '') throw invalid('missing public_key')
        const publicKey = explaining('failed to parse public_key as SSH key', () => parsePublicKey(values.public_key))
        checkKeyLength(role, publicKey)
        return { data: sign(call, role, publicKey) }
      },
    }),
    definePath('issue/:role', ISSUE_FIELDS, 'Create a key and sign it.', {
      update: async (call): Promise<Response> => {
        const { values } = call
        const role = roles.find(values.role)
        if (!role) throw invalid(`unknown role: ${values.role}`)
        if (role.key_type !== 'ca') throw invalid(`role key type '${role.key_type}' not allowed to issue key pairs`)
        const key = privateKeyOf(await makePrivateKey(pairKindOf(values.key_type, values.key_bits)))
        const signed = sign(call, role, parsePublicKey(publicLineOf(key)))
        const privateKey = privateTextOf(key, random.bytes(4))
        return { data: { ...signed, private_key: privateKey, private_key_type: values.key_type } }
      },
    }),
  ]
}

const DEFAULT_KEY_ID = 'vault-{{token_display_name}}-{{public_key_hash}}'

const parseType = (text: string): CertificateType => {
  if (!Object.hasOwn(CERTIFICATE_TYPES, text)) throw invalid("cert_type must be either 'user' or 'host'")
  return text as CertificateType
}

const isTypeAllowed = (role: Role, type: CertificateType): boolean =>
  role.key_type === 'ca' && (type === 'user' ? role.allow_user_certificates : role.allow_host_certificates)

import { LIMITS } from '../base/limits.js'

/**
 * Secrets encrypted to an operator's PGP key. The library is loaded at the first use, because most servers never need
 * it.
 */
export interface PgpKey {
  /** Lower-case hex of the primary key. */
  readonly fingerprint: string
  encrypt(plain: Buffer): Promise<Buffer>
}

type ParsedPgpKey = { readonly ok: true; readonly key: PgpKey } | { readonly ok: false; readonly problem: string }

/** Parses a public key: base64 of its binary form, as command lines send it, or ASCII armor. */
export const parsePgpKey = async (text: string): Promise<ParsedPgpKey> => {
  if (text.length > LIMITS.pgpKeyCharactersMax) {
    return { ok: false, problem: `error parsing PGP key: more than ${LIMITS.pgpKeyCharactersMax} characters` }
  }
  const openpgp = await import('openpgp')
  try {
    const key = text.includes('-----BEGIN PGP')
      ? await openpgp.readKey({ armoredKey: text })
      : await openpgp.readKey({ binaryKey: new Uint8Array(Buffer.from(text, 'base64')) })
    // A key that cannot encrypt must be rejected now, because a failure after the secret is generated is too late.
    await key.getEncryptionKey()
    return { ok: true, key: { fingerprint: key.getFingerprint(), encrypt } }

    async function encrypt(plain: Buffer): Promise<Buffer> {
      const message = await openpgp.createMessage({ binary: new Uint8Array(plain) })
      return Buffer.from(await openpgp.encrypt({ message, encryptionKeys: key, format: 'binary' }))
    }
  } catch (error) {
    return { ok: false, problem: `error parsing PGP key: ${error instanceof Error ? error.message : String(error)}` }
  }
}

import { LIMITS } from '../base/limits.js'
import { messageOf } from '../base/printable.js'

/**
 * A PGP key of an operator, to which secrets are encrypted. The library is loaded at the first use, because most
 * servers do not need it.
 */
export interface PgpKey {
  /** The fingerprint of the primary key, in lower-case hex. */
  readonly fingerprint: string
  encrypt(plain: Buffer): Promise<Buffer>
}

type ParsedPgpKey = { readonly ok: true; readonly key: PgpKey } | { readonly ok: false; readonly problem: string }

/**
 * Parses a public key in ASCII armor, or in base64 of its binary form, which the command line sends. Returns the
 * problem if the key is invalid.
 */
export const parsePgpKey = async (text: string): Promise<ParsedPgpKey> => {
  if (text.length > LIMITS.pgpKeyCharactersMax) {
    return { ok: false, problem: `error parsing PGP key: more than ${LIMITS.pgpKeyCharactersMax} characters` }
  }
  const openpgp = await import('openpgp')
  try {
    const key = text.includes('-----BEGIN PGP')
      ? await openpgp.readKey({ armoredKey: text })
      : await openpgp.readKey({ binaryKey: new Uint8Array(Buffer.from(text, 'base64')) })
    // Rejects a key that cannot encrypt before the secret is generated.
    await key.getEncryptionKey()
    return { ok: true, key: { fingerprint: key.getFingerprint(), encrypt } }

    async function encrypt(plain: Buffer): Promise<Buffer> {
      const message = await openpgp.createMessage({ binary: new Uint8Array(plain) })
      return Buffer.from(await openpgp.encrypt({ message, encryptionKeys: key, format: 'binary' }))
    }
  } catch (error) {
    return { ok: false, problem: `error parsing PGP key: ${messageOf(error)}` }
  }
}

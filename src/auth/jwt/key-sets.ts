/**
 * The public keys of the issuers. Keys from a URL are cached until a token has a signature that none of them verifies:
 * the issuer may have new keys.
 */
import { parseJsonObject } from '../../base/json.js'
import { type Jws, parseKeySet, parsePublicKey, type VerificationKey } from '../../crypto/jws.js'
import { invalid } from '../../logical/errors.js'

/** Fetches a document. `caPem` contains the trusted authorities; if empty, those of the system are trusted. */
export type FetchDocument = (url: string, caPem: string) => Promise<Buffer>

export interface KeySetAddress {
  readonly url: string
  /** In PEM; empty means the authorities of the system. */
  readonly caPem: string
}

/** Where keys come from. One of the sources is not empty. */
export interface KeySources {
  readonly discoveryUrl: string
  readonly discoveryCaPem: string
  readonly jwksUrl: string
  readonly jwksCaPem: string
  readonly jwksPairs: readonly KeySetAddress[]
  /** In PEM. */
  readonly publicKeys: readonly string[]
}

type Keys = readonly VerificationKey[]

/** The key cache of one mount. */
export class KeySets {
  readonly #load: FetchDocument
  #keys: Keys | undefined
  /** The fetch that runs. Logins that need new keys at the same time share it. */
  #fetching: Promise<Keys> | undefined

  constructor(load: FetchDocument) {
    this.#load = load
  }

  /** Returns whether a key of the sources has signed the token. Rejects with LogicalError 400 without keys. */
  async hasSigned(jws: Jws, sources: KeySources): Promise<boolean> {
    if (this.#keys && jws.isSignedBy(this.#keys)) return true
    if (this.#keys && sources.publicKeys.length > 0) return false
    return jws.isSignedBy(await this.#renew(sources))
  }

  /** Discards the keys. Called when the sources change. */
  clear(): void {
    this.#keys = undefined
    this.#fetching = undefined
  }

  async #renew(sources: KeySources): Promise<Keys> {
    const fetching = this.#fetching ?? readKeySets(sources, this.#load)
    this.#fetching = fetching
    try {
      const keys = await fetching
      // The sources may have changed while the keys were fetched.
      if (this.#fetching === fetching) this.#keys = keys
      return keys
    } finally {
      if (this.#fetching === fetching) this.#fetching = undefined
    }
  }
}

/** Returns the keys of all sources. Rejects with LogicalError 400 or 503 if one is unusable. */
export const readKeySets = async (sources: KeySources, load: FetchDocument): Promise<Keys> => {
  const addresses = await addressesOf(sources, load)
  const sets = await Promise.all(
    addresses.map(async ({ url, caPem }) => {
      const keys = parseKeySet(await load(url, caPem))
      if (!keys) throw invalid(`${url} has no JSON Web Key Set`)
      return keys
    }),
  )
  const own = sources.publicKeys.map(parsePublicKey).filter((key) => key !== undefined)
  return [...own, ...sets.flat()]
}

const addressesOf = async (sources: KeySources, load: FetchDocument): Promise<readonly KeySetAddress[]> => {
  const { discoveryUrl, discoveryCaPem: caPem } = sources
  if (sources.jwksUrl !== '') return [{ url: sources.jwksUrl, caPem: sources.jwksCaPem }]
  if (discoveryUrl === '') return sources.jwksPairs
  const { issuer, jwks_uri: url } = parseJsonObject(await load(discoveryDocumentOf(discoveryUrl), caPem)) ?? {}
  if (issuer !== discoveryUrl) {
    const got = JSON.stringify(issuer ?? '')
    throw invalid(`the issuer of the provider is ${got}, and the discovery URL is ${JSON.stringify(discoveryUrl)}`)
  }
  if (typeof url !== 'string') throw invalid(`the discovery document of ${discoveryUrl} has no jwks_uri`)
  return [{ url, caPem }]
}

const discoveryDocumentOf = (url: string): string => `${url.replace(/\/$/, '')}/.well-known/openid-configuration`

/**
 * Certificate authorities and the certificates that they issue. Issuers, keys, roles and settings replicate to
 * performance secondaries, which forward their changes to the primary. Each performance cluster issues and revokes
 * certificates itself, and keeps its certificates and revocation lists.
 */
import { createPrivateKeyBytes, type MakePrivateKey } from '../../crypto/key-pairs.js'
import type { Backend, BackendContext, BackendType } from '../../logical/backend.js'
import { PathRuleTable } from '../../logical/path-rules.js'
import { Authorities } from './authorities.js'
import { authorityPaths } from './authority-paths.js'
import { CertificateStore } from './certificate-store.js'
import { crlConfigPaths } from './crl-config.js'
import { fetchPaths, PATH_RULES } from './fetch-paths.js'
import { importPaths } from './import-paths.js'
import { intermediatePaths } from './intermediate-paths.js'
import { Issuance } from './issuance.js'
import { issuerPaths } from './issuer-paths.js'
import { keyPaths } from './key-paths.js'
import { leafPaths } from './leaf-paths.js'
import { Revocation } from './revocation.js'
import { revokePaths } from './revoke-paths.js'
import { Roles } from './role-paths.js'
import { selfIssuedPaths } from './self-issued-paths.js'
import { Tidy } from './tidy.js'
import { UrlConfig } from './url-config.js'

const RULES = new PathRuleTable(PATH_RULES)

const createPki = (context: BackendContext, makePrivateKey: MakePrivateKey): Backend => {
  const authorities = new Authorities(context)
  const store = new CertificateStore(context)
  const urls = new UrlConfig(context)
  const issuance = new Issuance(authorities, store, urls)
  const roles = new Roles(authorities)
  const revocation = new Revocation(authorities, store)
  const tidy = new Tidy(authorities, store, revocation)
  return {
    type: 'pki',
    rules: RULES,
    paths: [
      ...authorityPaths({ issuance, makePrivateKey }),
      ...intermediatePaths(issuance),
      ...selfIssuedPaths(issuance),
      ...importPaths(issuance),
      ...keyPaths(authorities, makePrivateKey),
      ...issuerPaths(issuance, revocation),
      ...roles.paths(),
      ...leafPaths({ issuance, roles, makePrivateKey, tidy }),
      ...fetchPaths(authorities, store, revocation),
      ...revokePaths(authorities, store, revocation),
      ...urls.paths(),
      ...crlConfigPaths(context),
      ...tidy.paths(),
    ],
    revokeLease: (secret) => revocation.revokeLease(secret),
    stop: () => tidy.settled(),
  }
}

export const createPkiType = (makePrivateKey: MakePrivateKey = createPrivateKeyBytes): BackendType => ({
  name: 'pki',
  kind: 'secret',
  factory: (context) => createPki(context, makePrivateKey),
  localPrefixes: ['certs/', 'revoked/', 'crls/', 'config/cluster'],
})

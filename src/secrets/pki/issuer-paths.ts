/** The paths of issuers: their settings and the default issuer. */
import { type Call, definePath, type PathSpec, sentBy } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { nullIfEmpty } from '../../logical/json.js'
import { bool, commaList, string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import type { Authorities } from './authorities.js'
import type { Issuance } from './issuance.js'
import { DEFAULT_REFERENCE } from './named-records.js'
import {
  colons,
  type IssuerRecord,
  LEAF_BEHAVIORS,
  pemOf,
  type UrlSettings,
  type Usage,
  USAGES,
  usageText,
} from './records.js'
import { revocationTimes } from './responses.js'
import type { Revocation } from './revocation.js'
import { parseAlgorithm } from './revocation-algorithms.js'
import { checkUrls, hasNoUrls, ISSUER_URL_FIELDS } from './url-config.js'

const FIELDS = {
  issuer_ref: string('Issuer: `default`, an ID or a name.'),
  issuer_name: string('Name of the issuer.'),
  leaf_not_after_behavior: string('What happens to certificates beyond its validity: err, truncate or permit.', 'err'),
  manual_chain: commaList('Issuers of the chain, beginning with this issuer.'),
  usage: commaList('Usages: read-only, issuing-certificates, crl-signing, ocsp-signing. Default: all.'),
  revocation_signature_algorithm: string('Signature algorithm of revocation lists, such as SHA256WithRSA.'),
  ...ISSUER_URL_FIELDS,
} as const

const UNKNOWN_BEHAVIOR =
  'Unknown value for field `leaf_not_after_behavior`. Possible values are `err`, `truncate`, and `permit`.'

const REFERENCE = { issuer_ref: FIELDS.issuer_ref } as const

const CONFIG = {
  default: string('Issuer: an ID or a name.'),
  default_follows_latest_issuer: bool('New issuers become the default.'),
} as const

type IssuerCall = Call<typeof FIELDS>

export const issuerPaths = ({ authorities, urls: urlConfig }: Issuance, revocation: Revocation): PathSpec[] => {
  const show = async (issuer: IssuerRecord, warnings: readonly string[] = []): Promise<Response> => ({
    data: await issuerData(authorities, issuer),
    warnings: [...warnings],
  })

  /** Applies the fields that `isSet` selects. All other settings stay. */
  const apply = async (
    issuer: IssuerRecord,
    { values, supplied }: IssuerCall,
    isSet: (field: keyof typeof FIELDS) => boolean,
  ) => {
    const pick = <T>(field: keyof typeof FIELDS, value: T, before: T): T => (isSet(field) ? value : before)
    const name = pick('issuer_name', values.issuer_name, issuer.name)
    await authorities.issuers.checkName(name, issuer.id)
    const behavior = LEAF_BEHAVIORS.find((known) => known === values.leaf_not_after_behavior)
    if (!behavior) throw invalid(UNKNOWN_BEHAVIOR)
    const urls = checkUrls({
      issuingCertificates: pick('issuing_certificates', values.issuing_certificates, issuer.urls.issuingCertificates),
      crlDistributionPoints: pick(
        'crl_distribution_points',
        values.crl_distribution_points,
        issuer.urls.crlDistributionPoints,
      ),
      ocspServers: pick('ocsp_servers', values.ocsp_servers, issuer.urls.ocspServers),
      isTemplated: pick('enable_aia_url_templating', values.enable_aia_url_templating, issuer.urls.isTemplated),
    })
    const chain = isSet('manual_chain') ? await resolveChain(issuer, values.manual_chain) : issuer.manualChain
    const changed: IssuerRecord = {
      ...issuer,
      name,
      urls,
      manualChain: chain,
      leafNotAfterBehavior: pick('leaf_not_after_behavior', behavior, issuer.leafNotAfterBehavior),
      usage: isSet('usage') ? (supplied('usage') ? parseUsage(values.usage) : USAGES) : issuer.usage,
      revocationAlgorithm: isSet('revocation_signature_algorithm')
        ? parseAlgorithm(issuer, values.revocation_signature_algorithm)
        : (issuer.revocationAlgorithm ?? ''),
    }
    if (changed.revokedMs > 0 && changed.usage.includes('issuing-certificates')) throw invalid(REVOKED)
    await authorities.issuers.put(changed)
    return show(changed, urlConfig.warningsOf(urls, issuer.id))
  }

  const resolveChain = async (issuer: IssuerRecord, references: readonly string[]): Promise<string[]> => {
    const given = references.filter((reference) => reference !== '')
    const ids: string[] = []
    for (const reference of given) {
      const isSelf = (reference === 'self' && ids.length === 0) || reference === issuer.name
      ids.push(isSelf ? issuer.id : (await authorities.issuers.require(reference)).id)
    }
    if (ids.length > 0 && ids[0] !== issuer.id) {
      throw invalid(`expected first cert in chain to be a self-reference, but was: ${given[0]}/${ids[0]}`)
    }
    return ids
  }

  const change = (call: IssuerCall, isSet: (field: keyof typeof FIELDS) => boolean): Promise<Response> =>
    authorities.change(async () => apply(await authorities.issuers.require(call.values.issuer_ref), call, isSet))

  const setDefault = (call: Call<typeof CONFIG>, fallback: string): Promise<Response> =>
    authorities.change(async () => {
      const reference = call.values.default || fallback
      if (reference === '' || reference === DEFAULT_REFERENCE) {
        throw invalid("Invalid issuer specification; must be non-empty and can't be 'default'.")
      }
      const { id } = await authorities.issuers.requireNamed(reference, 'Error resolving issuer reference: ')
      const { followsLatest: before } = authorities.issuers.config()
      const followsLatest = sentBy(call)('default_follows_latest_issuer') ?? before
      await authorities.issuers.putConfig({ default: id, followsLatest })
      return { data: { default: id, default_follows_latest_issuer: followsLatest } }
    })

  return [
    definePath('issuers/?', {}, 'List the issuers.', {
      list: async () => {
        const issuers = await authorities.issuers.all()
        const { default: id } = authorities.issuers.config()
        const info = issuers.map((issuer) => [
          issuer.id,
          {
            issuer_name: issuer.name,
            is_default: issuer.id === id,
            key_id: issuer.keyId,
            serial_number: colons(issuer.serial),
          },
        ])
        return { data: { keys: issuers.map((issuer) => issuer.id), key_info: Object.fromEntries(info) } }
      },
    }),
    definePath('issuer/:issuer_ref', FIELDS, 'Read, change or delete an issuer.', {
      read: async ({ values }) => show(await authorities.issuers.require(values.issuer_ref)),
      update: (call) => change(call, () => true),
      patch: (call) => change(call, (field) => call.supplied(field)),
      delete: ({ values }) =>
        authorities.change(async () => {
          const issuer = await authorities.issuers.find(values.issuer_ref)
          if (!issuer) return {}
          const wasDefault = await authorities.issuers.delete(issuer)
          const text = `Deleted issuer ${issuer.id} (via issuer_ref ${values.issuer_ref}); this was configured as the default issuer. Operations without an explicit issuer will not work until a new default is configured.`
          return wasDefault ? { warnings: [text] } : {}
        }),
    }),
    definePath('issuer/:issuer_ref/revoke', REFERENCE, 'Revoke an issuer: it issues no more certificates.', {
      update: ({ values }) =>
        authorities.change(async () => {
          const issuer = await authorities.issuers.require(values.issuer_ref)
          if (issuer.revokedMs > 0) return show(issuer)
          const revoked: IssuerRecord = {
            ...issuer,
            revokedMs: authorities.context.clock.now(),
            usage: issuer.usage.filter((usage) => usage !== 'issuing-certificates'),
          }
          await authorities.issuers.put(revoked)
          const { certificate, notAfterMs, serial } = revoked
          await revocation.record(serial, { certificate, notAfterMs }, revoked.revokedMs)
          return show(revoked, await revokedWarnings(authorities, revoked))
        }),
    }),
    definePath('config/issuers', CONFIG, 'Read or change the default issuer.', {
      read: () => {
        const { default: id, followsLatest } = authorities.issuers.config()
        return { data: { default: id, default_follows_latest_issuer: followsLatest } }
      },
      update: (call) => setDefault(call, ''),
    }),
    definePath('root/replace', CONFIG, 'Make the issuer `next` the default.', {
      update: (call) => setDefault(call, 'next'),
    }),
  ]
}

const REVOKED =
  'This issuer was revoked; unable to modify its usage to include certificate signing again. Reissue this certificate (preferably with a new key) and modify that entry instead.'

/** Returns the usages in their fixed order. `read-only` always is one. Throws LogicalError 400 for an unknown usage. */
const parseUsage = (names: readonly string[]): Usage[] => {
  if (names.some((name) => !USAGES.some((usage) => usage === name))) {
    throw invalid(`Unable to parse specified usages: [${names.join(' ')}] - valid values are ${usageText(USAGES)}`)
  }
  return USAGES.filter((usage) => usage === 'read-only' || names.includes(usage))
}

/** Returns the warnings about the revocation of an issuer. */
const revokedWarnings = async (authorities: Authorities, issuer: IssuerRecord): Promise<string[]> => {
  const hasParent = (await authorities.chainOf(issuer)).length > 1
  const isDefault = authorities.issuers.config().default === issuer.id
  const parent = hasParent ? [] : [NO_PARENT]
  return [...(issuer.isSelfSigned ? [SELF_SIGNED] : []), ...parent, ...(isDefault ? [WAS_DEFAULT] : [])]
}

const SELF_SIGNED =
  "This issuer is a self-signed (potentially root) certificate. This means it may not be considered revoked if there is not an external, cross-signed variant of this certificate. This issuer's serial number will not appear on its own CRL."
const NO_PARENT =
  "This issuer lacks another parent issuer within the mount. This means it will not appear on any other CRLs and may not be considered revoked by clients. Consider adding this issuer to its issuer's CRL as well if it is not self-signed."
const WAS_DEFAULT =
  'This issuer is currently configured as the default issuer for this mount; operations such as certificate issuance may not work until a new default issuer is selected.'

const issuerData = async (authorities: Authorities, issuer: IssuerRecord): Promise<Record<string, unknown>> => ({
  issuer_id: issuer.id,
  issuer_name: issuer.name,
  key_id: issuer.keyId,
  certificate: pemOf(issuer),
  ca_chain: (await authorities.chainOf(issuer)).map(pemOf),
  manual_chain: nullIfEmpty(issuer.manualChain),
  leaf_not_after_behavior: issuer.leafNotAfterBehavior,
  usage: usageText(issuer.usage),
  revocation_signature_algorithm: issuer.revocationAlgorithm ?? '',
  revoked: issuer.revokedMs > 0,
  ...(issuer.revokedMs > 0 && revocationTimes(issuer.revokedMs)),
  ...urlData(issuer.urls),
})

/** Returns the URLs of an issuer. Without any, the lists are empty and there is nothing that could be a template. */
const urlData = (urls: UrlSettings): Record<string, unknown> => {
  const { issuingCertificates, crlDistributionPoints, ocspServers, isTemplated } = urls
  if (hasNoUrls(urls)) return { issuing_certificates: [], crl_distribution_points: [], ocsp_servers: [] }
  return {
    issuing_certificates: nullIfEmpty(issuingCertificates),
    crl_distribution_points: nullIfEmpty(crlDistributionPoints),
    ocsp_servers: nullIfEmpty(ocspServers),
    enable_aia_url_templating: isTemplated,
  }
}

/** The paths of issuers: their settings and the default issuer. */
import { type Call, definePath, type PathSpec, sentBy } from '../../logical/backend.js'
import { invalid } from '../../logical/errors.js'
import { bool, commaList, string } from '../../logical/fields.js'
import type { Response } from '../../logical/request.js'
import type { Authorities } from './authorities.js'
import { colons, type IssuerRecord, LEAF_BEHAVIORS, pemOf, type Usage, USAGES } from './records.js'
import { revocationTimes } from './responses.js'
import type { Revocation } from './revocation.js'
import { checkUrls, ISSUER_URL_FIELDS } from './url-config.js'

const FIELDS = {
  issuer_ref: string('Issuer: `default`, an ID or a name.'),
  issuer_name: string('Name of the issuer.'),
  leaf_not_after_behavior: string('What happens to certificates beyond its validity: err, truncate or permit.', 'err'),
  manual_chain: commaList('Issuers of the chain, beginning with this issuer.'),
  usage: commaList('Usages: read-only, issuing-certificates, crl-signing, ocsp-signing.'),
  revocation_signature_algorithm: string('Not supported: signature algorithm of revocation lists.'),
  ...ISSUER_URL_FIELDS,
} as const

const REFERENCE = { issuer_ref: FIELDS.issuer_ref } as const

const CONFIG = {
  default: string('Issuer: an ID or a name.'),
  default_follows_latest_issuer: bool('New issuers become the default.'),
} as const

type IssuerCall = Call<typeof FIELDS>

export const issuerPaths = (authorities: Authorities, revocation: Revocation): PathSpec[] => {
  const show = async (issuer: IssuerRecord): Promise<Response> => ({ data: await issuerData(authorities, issuer) })

  /** Applies the fields that `isSet` selects. All other settings stay. */
  const apply = async (
    issuer: IssuerRecord,
    { values }: IssuerCall,
    isSet: (field: keyof typeof FIELDS) => boolean,
  ) => {
    const pick = <T>(field: keyof typeof FIELDS, value: T, before: T): T => (isSet(field) ? value : before)
    if (values.revocation_signature_algorithm !== '') {
      throw invalid('revocation_signature_algorithm is not supported by this server: remove it from the request')
    }
    const name = pick('issuer_name', values.issuer_name, issuer.name)
    await authorities.issuers.checkName(name, issuer.id)
    const behavior = LEAF_BEHAVIORS.find((known) => known === values.leaf_not_after_behavior)
    if (!behavior)
      throw invalid('Unknown value for leaf_not_after_behavior. Possible values are "err", "truncate", and "permit"')
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
      usage: isSet('usage') ? parseUsage(values.usage) : issuer.usage,
    }
    await authorities.issuers.put(changed)
    return show(changed)
  }

  const resolveChain = async (issuer: IssuerRecord, references: readonly string[]): Promise<string[]> => {
    const given = references.filter((reference) => reference !== '')
    const ids: string[] = []
    for (const reference of given) {
      const isSelf = reference === 'self' || reference === issuer.name
      ids.push(isSelf ? issuer.id : (await authorities.issuers.require(reference)).id)
    }
    if (ids.length > 0 && ids[0] !== issuer.id) {
      throw invalid(`the first element of manual_chain must be the issuer itself, which is ${issuer.id}`)
    }
    return ids
  }

  const change = (call: IssuerCall, isSet: (field: keyof typeof FIELDS) => boolean): Promise<Response> =>
    authorities.change(async () => apply(await authorities.issuers.require(call.values.issuer_ref), call, isSet))

  const setDefault = (call: Call<typeof CONFIG>, fallback: string): Promise<Response> =>
    authorities.change(async () => {
      const before = authorities.issuers.config()
      const reference = call.values.default || fallback
      const id = reference === '' ? before.default : (await authorities.issuers.require(reference)).id
      if (id === '') throw invalid('Invalid issuer specification; must be non-empty and can\'t be "default".')
      const followsLatest = sentBy(call)('default_follows_latest_issuer') ?? before.followsLatest
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
      update: (call) => change(call, (field) => field !== 'usage' || call.supplied('usage')),
      patch: (call) => change(call, (field) => call.supplied(field)),
      delete: ({ values }) =>
        authorities.change(async () => {
          const issuer = await authorities.issuers.find(values.issuer_ref)
          if (!issuer) return undefined
          const wasDefault = await authorities.issuers.delete(issuer)
          const text = `Deleted issuer ${issuer.id} was the default issuer. No default issuer is configured.`
          return wasDefault ? { warnings: [text] } : undefined
        }),
    }),
    definePath('issuer/:issuer_ref/revoke', REFERENCE, 'Revoke an issuer: it issues no more certificates.', {
      update: ({ values }) =>
        authorities.change(async () => {
          const issuer = await authorities.issuers.require(values.issuer_ref)
          if (issuer.revokedMs > 0) return show(issuer)
          const revoked = { ...issuer, revokedMs: authorities.context.clock.now() }
          await authorities.issuers.put(revoked)
          const { certificate, notAfterMs, serial } = revoked
          await revocation.record(serial, { certificate, notAfterMs }, revoked.revokedMs)
          return show(revoked)
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

/** Returns the usages in their fixed order. `read-only` always is one. Throws LogicalError 400 for an unknown usage. */
const parseUsage = (names: readonly string[]): Usage[] => {
  const unknown = names.find((name) => !USAGES.some((usage) => usage === name))
  if (unknown !== undefined) throw invalid(`unknown name for usage: ${unknown}`)
  return USAGES.filter((usage) => usage === 'read-only' || names.includes(usage))
}

const issuerData = async (authorities: Authorities, issuer: IssuerRecord): Promise<Record<string, unknown>> => ({
  issuer_id: issuer.id,
  issuer_name: issuer.name,
  key_id: issuer.keyId,
  certificate: pemOf(issuer),
  ca_chain: (await authorities.chainOf(issuer)).map(pemOf),
  manual_chain: issuer.manualChain.length > 0 ? issuer.manualChain : null,
  leaf_not_after_behavior: issuer.leafNotAfterBehavior,
  usage: issuer.usage.join(','),
  revocation_signature_algorithm: '',
  revoked: issuer.revokedMs > 0,
  ...(issuer.revokedMs > 0 && revocationTimes(issuer.revokedMs)),
  issuing_certificates: issuer.urls.issuingCertificates,
  crl_distribution_points: issuer.urls.crlDistributionPoints,
  ocsp_servers: issuer.urls.ocspServers,
  enable_aia_url_templating: issuer.urls.isTemplated,
})

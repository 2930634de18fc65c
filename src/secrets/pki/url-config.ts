/** The URLs in certificates: those of the issuer, or else those of the mount. */
import { messageOf } from '../../base/printable.js'
import type { BackendContext, Call, PathSpec } from '../../logical/backend.js'
import { definePath, sentBy } from '../../logical/backend.js'
import { decidedByPrimary } from '../../logical/decided-by-primary.js'
import { invalid } from '../../logical/errors.js'
import { bool, commaList, string } from '../../logical/fields.js'
import { putJson, readJson } from '../../logical/storage.js'
import { type IssuerRecord, NO_URLS, type UrlSettings } from './records.js'

const FIELDS = {
  issuing_certificates: commaList('URLs of the certificate of the issuer.'),
  crl_distribution_points: commaList('URLs of the revocation list of the issuer.'),
  ocsp_servers: commaList('URLs of OCSP servers.'),
  enable_templating: bool('Replaces `{{issuer_id}}`, `{{cluster_path}}` and `{{cluster_aia_path}}` in the URLs.'),
} as const

const CLUSTER_FIELDS = {
  path: string('URL of this mount on this cluster.'),
  aia_path: string('URL at which this cluster publishes certificates and revocation lists.'),
} as const

/** The fields of an issuer with the same meaning. */
export const ISSUER_URL_FIELDS = {
  issuing_certificates: FIELDS.issuing_certificates,
  crl_distribution_points: FIELDS.crl_distribution_points,
  ocsp_servers: FIELDS.ocsp_servers,
  enable_aia_url_templating: FIELDS.enable_templating,
} as const

interface ClusterConfig {
  readonly path: string
  readonly aiaPath: string
}

const NO_ADDRESS = 'unable to template AIA URLs as we lack local cluster address information'

const KEY = 'config/urls'
const CLUSTER_KEY = 'config/cluster'

export const hasNoUrls = ({ issuingCertificates, crlDistributionPoints, ocspServers }: UrlSettings): boolean =>
  issuingCertificates.length + crlDistributionPoints.length + ocspServers.length === 0

const INVALID_URL = 'invalid URL found in Authority Information Access (AIA) parameter'

/** Throws LogicalError 400 for a text that is not a URL. Templates are not checked. */
export const checkUrls = (urls: UrlSettings): UrlSettings => {
  if (urls.isTemplated) return urls
  for (const [field, list] of [
    ['issuing_certificates', urls.issuingCertificates],
    ['crl_distribution_points', urls.crlDistributionPoints],
    ['ocsp_servers', urls.ocspServers],
  ] as const) {
    const wrong = list.find((text) => !URL.canParse(text))
    if (wrong !== undefined) throw invalid(`${INVALID_URL} ${field}: ${wrong}`)
  }
  return urls
}

export class UrlConfig {
  readonly #context: BackendContext

  constructor(context: BackendContext) {
    this.#context = context
  }

  #stored(): UrlSettings | undefined {
    return readJson<UrlSettings>(this.#context.storage, KEY)
  }

  #cluster(): ClusterConfig {
    return readJson<ClusterConfig>(this.#context.localStorage, CLUSTER_KEY) ?? { path: '', aiaPath: '' }
  }

  /** Returns true if neither the mount nor the issuer has URLs. */
  isMissing(issuer?: IssuerRecord): boolean {
    return hasNoUrls(this.#stored() ?? NO_URLS) && hasNoUrls(issuer?.urls ?? NO_URLS)
  }

  /** Returns the URLs of certificates of an issuer. Throws LogicalError 400 if a template has no value. */
  of(issuer: IssuerRecord | undefined): Omit<UrlSettings, 'isTemplated'> {
    const own = issuer?.urls ?? NO_URLS
    const urls = hasNoUrls(own) ? (this.#stored() ?? NO_URLS) : own
    if (!issuer) return urls.isTemplated ? NO_URLS : urls
    return this.#filled(urls, issuer.id, 'error fetching CA certificate: unable to fetch AIA URL information: ')
  }

  /** Returns the URLs without templates. Throws LogicalError 400 if a template has no value. */
  #filled(urls: UrlSettings, issuerId: string, beginning = ''): Omit<UrlSettings, 'isTemplated'> {
    if (!urls.isTemplated) return urls
    const { path, aiaPath } = this.#cluster()
    const missing = (name: string) => invalid(`${beginning}${NO_ADDRESS} (${name})`)
    const fill = (texts: readonly string[]) =>
      texts.map((text) => {
        if (text.includes('{{cluster_path}}') && path === '') throw missing('path')
        if (text.includes('{{cluster_aia_path}}') && aiaPath === '') throw missing('aia_path')
        return text
          .replaceAll('{{cluster_path}}', path)
          .replaceAll('{{cluster_aia_path}}', aiaPath)
          .replaceAll('{{issuer_id}}', issuerId)
      })
    return {
      issuingCertificates: fill(urls.issuingCertificates),
      crlDistributionPoints: fill(urls.crlDistributionPoints),
      ocspServers: fill(urls.ocspServers),
    }
  }

  /** Returns the warning about templates that have no value yet. */
  warningsOf(urls: UrlSettings, issuerId: string): string[] {
    try {
      this.#filled(urls, issuerId)
      return []
    } catch (error) {
      const hint = 'Consider setting the cluster-local address if it is not already set.'
      return [`issuance may fail: ${messageOf(error)}\n\n${hint}`]
    }
  }

  paths(): PathSpec[] {
    const storage = decidedByPrimary(this.#context)
    const { localStorage } = this.#context
    const show = (urls: UrlSettings) => ({
      data: {
        issuing_certificates: urls.issuingCertificates,
        crl_distribution_points: urls.crlDistributionPoints,
        ocsp_servers: urls.ocspServers,
        enable_templating: urls.isTemplated,
      },
    })
    const showCluster = ({ path, aiaPath }: ClusterConfig) => ({ data: { path, aia_path: aiaPath } })
    return [
      definePath('config/urls', FIELDS, 'Read or change the URLs in certificates.', {
        read: () => show(this.#stored() ?? NO_URLS),
        update: (call: Call<typeof FIELDS>) =>
          storage.write((tx) => {
            const sent = sentBy(call)
            const before = readJson<UrlSettings>(tx, KEY) ?? NO_URLS
            const urls = checkUrls({
              issuingCertificates: shownOnly(sent('issuing_certificates')) ?? before.issuingCertificates,
              crlDistributionPoints: shownOnly(sent('crl_distribution_points')) ?? before.crlDistributionPoints,
              ocspServers: shownOnly(sent('ocsp_servers')) ?? before.ocspServers,
              isTemplated: sent('enable_templating') ?? before.isTemplated,
            })
            putJson(tx, KEY, urls)
            return { ...show(urls), warnings: this.warningsOf(urls, '') }
          }),
      }),
      definePath('config/cluster', CLUSTER_FIELDS, 'Read or change the addresses of this cluster.', {
        read: () => showCluster(this.#cluster()),
        update: (call: Call<typeof CLUSTER_FIELDS>) => {
          const sent = sentBy(call)
          const before = this.#cluster()
          const config = { path: sent('path') ?? before.path, aiaPath: sent('aia_path') ?? before.aiaPath }
          for (const name of ['path', 'aia_path'] as const) {
            const text = sent(name) ?? ''
            if (text !== '' && !URL.canParse(text)) throw invalid(`invalid, non-URL ${name} given to cluster: ${text}`)
          }
          return localStorage.write((tx) => {
            putJson(tx, CLUSTER_KEY, config)
            return showCluster(config)
          })
        },
      }),
    ]
  }
}

const shownOnly = (texts: readonly string[] | undefined) => texts?.filter((text) => text !== '')

/** The URLs in certificates: those of the issuer, or else those of the mount. */
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

const KEY = 'config/urls'
const CLUSTER_KEY = 'config/cluster'

const isEmpty = ({ issuingCertificates, crlDistributionPoints, ocspServers }: UrlSettings): boolean =>
  issuingCertificates.length + crlDistributionPoints.length + ocspServers.length === 0

/** Throws LogicalError 400 for a text that is not a URL. Templates are not checked. */
export const checkUrls = (urls: UrlSettings): UrlSettings => {
  if (urls.isTemplated) return urls
  for (const [field, list] of [
    ['issuing certificates', urls.issuingCertificates],
    ['CRL distribution points', urls.crlDistributionPoints],
    ['OCSP servers', urls.ocspServers],
  ] as const) {
    const wrong = list.find((text) => !URL.canParse(text))
    if (wrong !== undefined) throw invalid(`invalid URL found in ${field}: ${wrong}`)
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
    return isEmpty(this.#stored() ?? NO_URLS) && isEmpty(issuer?.urls ?? NO_URLS)
  }

  /** Returns the URLs of certificates of an issuer. Throws LogicalError 400 if a template has no value. */
  of(issuer: IssuerRecord | undefined): Omit<UrlSettings, 'isTemplated'> {
    const own = issuer?.urls ?? NO_URLS
    const urls = isEmpty(own) ? (this.#stored() ?? NO_URLS) : own
    if (!urls.isTemplated || !issuer) return urls.isTemplated ? NO_URLS : urls
    const { path, aiaPath } = this.#cluster()
    const values = { issuer_id: issuer.id, cluster_path: path, cluster_aia_path: aiaPath }
    const fill = (texts: readonly string[]) =>
      texts.map((text) =>
        text.replaceAll(/\{\{(issuer_id|cluster_path|cluster_aia_path)\}\}/g, (_, name: keyof typeof values) => {
          if (values[name] === '') throw invalid(`unable to template AIA URLs: config/cluster does not set ${name}`)
          return values[name]
        }),
      )
    return {
      issuingCertificates: fill(urls.issuingCertificates),
      crlDistributionPoints: fill(urls.crlDistributionPoints),
      ocspServers: fill(urls.ocspServers),
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
        read: () => {
          const urls = this.#stored()
          return urls && show(urls)
        },
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
            return show(urls)
          }),
      }),
      definePath('config/cluster', CLUSTER_FIELDS, 'Read or change the addresses of this cluster.', {
        read: () => showCluster(this.#cluster()),
        update: (call: Call<typeof CLUSTER_FIELDS>) => {
          const sent = sentBy(call)
          const before = this.#cluster()
          const config = { path: sent('path') ?? before.path, aiaPath: sent('aia_path') ?? before.aiaPath }
          const wrong = [config.path, config.aiaPath].find((text) => text !== '' && !URL.canParse(text))
          if (wrong !== undefined) throw invalid(`invalid, non-URL path given to cluster: ${wrong}`)
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

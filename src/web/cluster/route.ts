/** The part of the page address after `#`: a cluster, one of its views, and the item that the view shows. */
export interface PageRoute {
  readonly cluster: string
  readonly view: string
  /** For example, `kv/app/db` of the view `secrets`. Empty for the whole view. */
  readonly item: string
}

export const FIRST_VIEW = 'replication'

/** Parses the part after the `#`. Returns undefined for the overview of all clusters. */
export const parseRoute = (hash: string): PageRoute | undefined => {
  const [, cluster = '', view = FIRST_VIEW, item = ''] = /^#\/([^/]+)(?:\/(\w+)(?:\/(.*))?)?$/.exec(hash) ?? []
  try {
    return cluster === '' ? undefined : { cluster: decodeURIComponent(cluster), view, item: decodeURIComponent(item) }
  } catch {
    return undefined
  }
}

export const hashOf = ({ cluster, view, item }: PageRoute): string => {
  const parts = item === '' ? [cluster, view] : [cluster, view, ...item.split('/')]
  return `#/${parts.map(encodeURIComponent).join('/')}`
}

/** The content of the page address: a cluster and one of its views, but not the data shown there. */
export interface PageRoute {
  readonly cluster: string
  readonly view: string
}

export const FIRST_VIEW = 'replication'

/** Parses the part after the `#`. Returns undefined for the overview of all clusters. */
export const parseRoute = (hash: string): PageRoute | undefined => {
  const [, cluster = '', view = FIRST_VIEW] = /^#\/([^/]+)(?:\/(\w+))?$/.exec(hash) ?? []
  try {
    return cluster === '' ? undefined : { cluster: decodeURIComponent(cluster), view }
  } catch {
    return undefined
  }
}

export const hashOf = ({ cluster, view }: PageRoute): string => `#/${encodeURIComponent(cluster)}/${view}`

/** What the address of the page names: a cluster and a view of it, and nothing of what is looked at there. */
export interface Place {
  readonly cluster: string
  readonly view: string
}

export const FIRST_VIEW = 'replication'

/** From what stands behind the `#`; undefined for all clusters together. */
export const placeOf = (hash: string): Place | undefined => {
  const [, cluster = '', view = FIRST_VIEW] = /^#\/([^/]+)(?:\/(\w+))?$/.exec(hash) ?? []
  try {
    return cluster === '' ? undefined : { cluster: decodeURIComponent(cluster), view }
  } catch {
    return undefined
  }
}

export const hashOf = ({ cluster, view }: Place): string => `#/${encodeURIComponent(cluster)}/${view}`

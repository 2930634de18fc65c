import { listDrillNames } from '../../lab/drills/catalogue.js'
import { findLab, listLabs } from '../../lab/lifecycle/lab-directory.js'
import { listSnapshots } from '../../lab/snapshot/snapshot-file.js'
import { TOPOLOGY_NAMES } from '../../lab/topology.js'

/** Names that are completed live. What cannot be read has none: a completion never complains. */
export interface Names {
  labs(): readonly string[]
  clusters(lab: string): readonly string[]
  topologies(): readonly string[]
  drills(): readonly string[]
  snapshots(): readonly string[]
}

export const liveNames: Names = {
  labs: () => orNone(listLabs),
  clusters: (lab) => orNone(() => findLab(lab)?.clusters.map(({ name }) => name) ?? []),
  topologies: () => TOPOLOGY_NAMES,
  drills: () => orNone(listDrillNames),
  snapshots: () => orNone(listSnapshots),
}

const orNone = (read: () => readonly string[]): readonly string[] => {
  try {
    return read()
  } catch {
    return []
  }
}

type Source = (names: Names, lab: string) => readonly string[]

const labs: Source = (names) => names.labs()
const clusters: Source = (names, lab) => names.clusters(lab)
const topologies: Source = (names) => names.topologies()

/** By the name that an argument, or the value of an option, has in the help. */
export const NAME_SOURCES: Readonly<Record<string, Source>> = {
  lab: labs,
  cluster: clusters,
  clusters,
  other: clusters,
  lost: clusters,
  to: clusters,
  primary: clusters,
  secondary: clusters,
  former: clusters,
  what: clusters,
  topology: topologies,
  drill: (names) => names.drills(),
  snapshot: (names) => names.snapshots(),
}

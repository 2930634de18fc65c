import { readFileSync } from 'node:fs'
import path from 'node:path'
import { labsDirectory, listLabs } from '../../lab/model/state-directory.js'
import { listSnapshots } from '../../lab/snapshot/kept.js'

/** Names for completion. Unreadable sources have no names, because a completion must not print errors. */
export interface Names extends PackageNames {
  labs(): readonly string[]
  clusters(lab: string): readonly string[]
  snapshots(): readonly string[]
}

/** Names of built-in topologies and drills. */
export interface PackageNames {
  readonly topologies: readonly string[]
  readonly drills: readonly string[]
}

export const liveNames = (shipped: PackageNames): Names => ({
  ...shipped,
  labs: listLabs,
  clusters: clustersOf,
  snapshots: listSnapshots,
})

const clustersOf = (lab: string): readonly string[] => {
  try {
    const record = JSON.parse(readFileSync(path.join(labsDirectory(), lab, 'lab.json'), 'utf8')) as {
      clusters: readonly { name: string }[]
    }
    return record.clusters.map(({ name }) => name)
  } catch {
    return []
  }
}

type Source = (names: Names, lab: string) => readonly string[]

const labs: Source = (names) => names.labs()
const clusters: Source = (names, lab) => names.clusters(lab)

/** Sources by the name of an argument or option value in the help. */
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
  topology: (names) => names.topologies,
  drill: (names) => names.drills,
  snapshot: (names) => names.snapshots(),
}

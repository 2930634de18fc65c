import type { PageEvent } from '../../lab/web/page-facts.js'

/** Groups of event kinds for the filter: operator actions, injected faults, and cluster events. */
export const GROUPS = {
  commands: ['command', 'call', 'drill', 'lab-up', 'lab-down', 'note', 'daemon-started'],
  faults: ['fault-set', 'fault-healed', 'fault-expired'],
  roles: ['role', 'node'],
  servers: ['process', 'seal'],
  replication: ['replication'],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type Group = keyof typeof GROUPS

export interface Filter {
  readonly groups: ReadonlySet<Group>
  /** Empty for all clusters. */
  readonly cluster: string
  readonly text: string
}

export const groupOf = (kind: string): Group =>
  (Object.keys(GROUPS) as Group[]).find((group) => (GROUPS[group] as readonly string[]).includes(kind)) ?? 'commands'

/** Returns the matching events, newest first. Events of the whole lab match every cluster. */
export const filterEvents = (events: readonly PageEvent[], { groups, cluster, text }: Filter): readonly PageEvent[] => {
  const wanted = text.trim().toLowerCase()
  return events
    .filter((event) => groups.has(groupOf(event.kind)))
    .filter((event) => cluster === '' || event.cluster === null || event.cluster === cluster)
    .filter((event) => `${event.kind} ${event.text}`.toLowerCase().includes(wanted))
    .reverse()
}

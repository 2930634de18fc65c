import { parseDurationMs } from '../../base/duration.js'
import { type LabSettings, NODE_SETTINGS } from '../model/settings.js'
import type { ClusterPlan } from '../model/topology.js'

/** The plan of a cluster as settings of its servers. */
export const settingsOf = ({ license, version, settings }: ClusterPlan): LabSettings => ({
  ...(license ? { license } : {}),
  ...(version ? { reported_version: version } : {}),
  ...settings,
})

/** What it cannot read here the server refuses. */
export const leaseMsOf = ({ leader_lease = NODE_SETTINGS.leader_lease }: LabSettings): number =>
  parseDurationMs(String(leader_lease)) ?? 0

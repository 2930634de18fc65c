import { parseDurationMs } from '../../base/duration.js'
import { type LabSettings, NODE_SETTINGS } from '../model/settings.js'
import type { ClusterPlan } from '../model/topology.js'

/** Returns a cluster plan as settings of its servers. */
export const settingsOf = ({ license, version, settings }: ClusterPlan): LabSettings => ({
  ...(license ? { license } : {}),
  ...(version ? { reported_version: version } : {}),
  ...settings,
})

/** Returns the lease in milliseconds. The server rejects a lease that cannot be parsed here. */
export const leaseMsOf = ({ leader_lease = NODE_SETTINGS.leader_lease }: LabSettings): number =>
  parseDurationMs(String(leader_lease)) ?? 0

import { withClient } from '../../src/lab/model/cluster.js'
import type { LiveLab } from '../../src/lab/live/live-lab.js'
import type { HostedLab } from './host-suite.js'

const TIMEOUT_MS = 60_000

/**
 * Uses a lab through its handle, with a new connection for each request. `rest`: functions that the handle does not
 * have.
 */
export const onLiveLab = (lab: LiveLab, rest: Pick<HostedLab, 'reset' | 'logs' | 'end'>): HostedLab => ({
  work: (verb, cluster) => lab.work(verb, cluster, TIMEOUT_MS),
  ask: async (isRoot, requests) =>
    withClient({ ...lab.cluster('A'), rootToken: isRoot ? await lab.rootToken('A') : '' }, requests),
  setFault: (request) => lab.setFault(request),
  heal: () => lab.heal(),
  reset: rest.reset,
  logs: rest.logs,
  end: async () => {
    await lab.close()
    await rest.end()
  },
})

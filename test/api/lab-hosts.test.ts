import { vi } from 'vitest'
import { attachLab, clusterOf } from '../../src/lab/attach/attach.js'
import { downLab } from '../../src/lab/lifecycle/down.js'
import { LogReader, logSources } from '../../src/lab/lifecycle/logs.js'
import { upLab } from '../../src/lab/lifecycle/up.js'
import { openLab } from '../../src/lab/live/open-lab.js'
import { requireLab, requireOwnLab } from '../../src/lab/model/lab-directory.js'
import { randomPorts } from '../../src/lab/model/ports.js'
import { thisHost } from '../../src/lab/processes/lab-host.js'
import { resetLab } from '../../src/lab/snapshot/reset.js'
import { requireTopology } from '../../src/lab/topology/catalogue.js'
import { describeHost, type HostedLab } from '../conformance/host-suite.js'
import { onLiveLab } from '../conformance/live-host.js'
import { LabHome } from '../support/lab-home.js'

/** Labs with a record, by the functions under the commands. */

const WAIT = { timeoutMs: 60_000, onProgress: () => undefined }

/** Starts the lab "own" in a state directory of its own. If `isAttached`, works on its servers as the lab "other". */
const open = async (isInProcess: boolean, isAttached = false): Promise<HostedLab> => {
  const home = new LabHome()
  vi.stubEnv('XDG_STATE_HOME', home.directory)
  const host = thisHost()
  const topology = requireTopology('dr')
  const choosePorts = () => randomPorts(topology.clusters)
  const seal = { shares: 1, threshold: 1 }
  const planned = { name: 'own', topology, choosePorts, settings: {}, ...seal, clock: host.clock, isInProcess }
  const { clusters } = await upLab({ ...WAIT, ...planned }, host)
  const name = isAttached ? 'other' : 'own'
  if (isAttached) {
    const attached = clusters.map((cluster) => clusterOf(cluster.name, [cluster], cluster))
    await attachLab({ name, topology: 'dr', clusters: attached, onWarning: () => undefined }, host)
  }
  return onLiveLab(openLab(name, host), {
    reset: () => resetLab(name, WAIT, host),
    logs: () => {
      requireOwnLab(name, 'its servers write their logs on their own machines')
      const lines = new LogReader(logSources(requireLab(name), ['A'], false)).read()
      return lines.map(({ text }) => `${text}\n`).join('')
    },
    end: async () => {
      await downLab('own', { ...WAIT, keep: false }, host)
      vi.unstubAllEnvs()
      await home[Symbol.asyncDispose]()
    },
  })
}

describeHost('one process per server', () => open(false))

describeHost('all in one process', () => open(true), {
  pause: '"pause" is not supported for in-process labs',
  wipe: '"wipe" is not supported for in-process labs',
})

const ATTACHED = 'the lab "other" is attached'

describeHost('attached', () => open(false, true), {
  run: `${ATTACHED} and cannot stop cluster A`,
  pause: `${ATTACHED} and cannot pause cluster A`,
  wipe: `${ATTACHED} and cannot wipe cluster A`,
  'link-fault': `${ATTACHED}: it has no lab daemon`,
  reset: ATTACHED,
  logs: 'its servers write their logs on their own machines',
})

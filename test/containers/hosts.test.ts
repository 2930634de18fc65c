import { vi } from 'vitest'
import { parseDrill } from '../../src/lab/drills/parse.js'
import { bringUp } from '../../src/lab/start/lab-for-drill.js'
import { requireOwnLab } from '../../src/lab/model/lab-directory.js'
import { describeHost } from '../conformance/host-suite.js'
import { onLiveLab } from '../conformance/live-host.js'
import { LabHome } from '../support/lab-home.js'
import { IMAGE } from './image.js'

const DRILL = 'apiVersion: understudy/v1\nkind: Drill\ntopology: dr\nsteps:\n  - crash: A\n'

const OWN = 'it does that to the lab itself'

describeHost(
  'containers',
  async () => {
    const home = new LabHome()
    vi.stubEnv('XDG_STATE_HOME', home.directory)
    vi.stubEnv('UNDERSTUDY_IMAGE', IMAGE)
    const options = { timeoutMs: 120_000 }
    const { lab, end } = await bringUp(parseDrill(DRILL, 'hosts.yaml'), 'docker', options)
    const refuse = async () => requireOwnLab(lab.name, OWN)
    return onLiveLab(lab, {
      reset: refuse,
      logs: () => String(requireOwnLab(lab.name, OWN)),
      end: async () => {
        await end({ keep: false })
        vi.unstubAllEnvs()
        await home[Symbol.asyncDispose]()
      },
    })
  },
  {
    wipe: 'is in its container: remove the container, and create a new one',
    reset: OWN,
    logs: OWN,
  },
)

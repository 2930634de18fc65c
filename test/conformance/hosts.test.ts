import { startLab } from '../../src/index.js'
import { type Log, silentLog } from '../../src/base/log.js'
import { InProcessLab } from '../../src/lab/library/in-process-lab.js'
import { openInProcessLab } from '../../src/lab/live/in-process-driver.js'
import { requireTopology } from '../../src/lab/topology/catalogue.js'
import { describeHost, type HostedLab } from './host-suite.js'
import { onLiveLab } from './live-host.js'

describeHost(
  'in the process of the test',
  async () => {
    const lines: string[] = []
    const record = (message: string) => void lines.push(`${message}\n`)
    const log: Log = { ...silentLog, info: record, warn: record, error: record, with: () => log }
    const inProcess = await InProcessLab.start(requireTopology('dr'), { log })
    return onLiveLab(openInProcessLab(inProcess), {
      reset: () => inProcess.reset(),
      logs: () => lines.join(''),
      end: () => inProcess.close(),
    })
  },
  {
    pause: '"pause" is not supported for in-process labs',
    wipe: '"wipe" is not supported for in-process labs',
  },
)

const NONE = { pause: null, wipe: null, 'server-fault': null, logs: null } as const

describeHost(
  'simulated',
  async (): Promise<HostedLab> => {
    const lab = await startLab('dr', { simulated: true })
    const { A } = lab
    const absent = () => Promise.reject(new Error('a simulated lab has no such method'))
    return {
      work: async (verb) => {
        if (verb === 'start' || verb === 'stop' || verb === 'crash') return A[verb]()
        if (verb === 'seal') return A.client.write('sys/seal')
        if (verb === 'unseal') return A.open()
        if (verb !== 'restart') return absent()
        await A.stop()
        return A.start()
      },
      ask: (isRoot, requests) => requests(isRoot ? A.client : A.anonymous),
      setFault: async () => lab.link('A', 'B').partition(),
      heal: async () => lab.heal(),
      reset: () => (lab as unknown as HostedLab).reset(),
      logs: () => '',
      end: () => lab.close(),
    }
  },
  { ...NONE, reset: 'a simulated lab does not support "reset"' },
)

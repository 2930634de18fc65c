import type { Command } from 'commander'
import { LabDaemonClient } from '../../../lab/daemon/lab-daemon-client.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { claimLab } from '../../../lab/processes/claim.js'
import { requireLab, saveLab } from '../../../lab/model/lab-directory.js'
import { thisHost } from '../../../lab/processes/lab-host.js'
import { TypedCommand } from '../../terminal/command.js'
import type { Output } from '../../terminal/output.js'
import { parsePort } from './options.js'

/** The default port of toxiproxy clients. */
const DEFAULT_PORT = 8474

/** `understudy toxiproxy`: lets toxiproxy clients control the links of a lab. */
export const toxiproxyCommand = (output: Output): Command =>
  new TypedCommand('toxiproxy')
    .description('serve the toxiproxy HTTP API for the links of a lab on 127.0.0.1, without a password')
    .lab()
    .flag('--port <port>', 'port; 0 selects a free port', String(DEFAULT_PORT))
    .flag('--off', 'stop serving the API')
    .examples('toxiproxy', 'toxiproxy --port 0 --name drill', 'toxiproxy --off')
    .run(async ({ name, port, off }) => {
      const wanted = off ? null : port === '0' ? 0 : parsePort(port)
      const host = thisHost()
      requireLab(name)
      const claim = claimLab(name, 'changed', host.me, host.table)
      try {
        const lab = requireLab(name)
        if (lab.state !== 'running') throw new LabError('conflict', `the lab "${name}" is not running`)
        const toxiproxyPort = await new LabDaemonClient(lab.keeper.socket).setToxiproxyPort(wanted)
        // A restarted lab daemon listens on the same port.
        saveLab({ ...lab, keeper: { ...lab.keeper, toxiproxyPort } })
        if (toxiproxyPort !== null) output.data(`http://127.0.0.1:${toxiproxyPort}`)
        else output.progress('the Toxiproxy API is disabled')
      } finally {
        claim.release()
      }
    })

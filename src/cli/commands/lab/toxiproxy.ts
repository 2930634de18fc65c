import type { Command } from 'commander'
import { TOXIPROXY_PORT } from '../../../lab/containers/container-daemon.js'
import { LabDaemonClient } from '../../../lab/daemon/lab-daemon-client.js'
import { isAttached } from '../../../lab/model/cluster.js'
import type { LabDaemonAccess } from '../../../lab/model/daemon-record.js'
import { LabError } from '../../../lab/model/lab-error.js'
import { claimLab } from '../../../lab/processes/claim.js'
import { requireDaemonLab, saveLab } from '../../../lab/model/lab-directory.js'
import { thisHost } from '../../../lab/processes/lab-host.js'
import { TypedCommand } from '../../terminal/command.js'
import type { Output } from '../../terminal/output.js'
import { parsePort } from './options.js'

/** `understudy toxiproxy`: lets toxiproxy clients control the links of a lab. */
export const toxiproxyCommand = (output: Output): Command =>
  new TypedCommand('toxiproxy')
    .description('serve the Toxiproxy HTTP API for the links of a lab')
    .lab()
    .flag('--port <port>', 'port on 127.0.0.1; 0 selects a free port', String(TOXIPROXY_PORT))
    .flag('--off', 'disable the API')
    .examples('toxiproxy', 'toxiproxy --port 0 --name drill', 'toxiproxy --off')
    .run(async ({ name, port, off }) => {
      const wanted = off ? null : port === '0' ? 0 : parsePort(port)
      const host = thisHost()
      requireDaemonLab(name)
      using _claim = claimLab(name, 'changed', host)
      const served = await serve(name, wanted)
      if (served !== null) output.data(`http://127.0.0.1:${served}`)
      else output.progress('the Toxiproxy API is disabled')
    })

/**
 * Enables the API on a port, or disables the API if `wanted` is null. Returns the port on this machine. Rejects with
 * LabError `conflict` if the lab is not running.
 */
const serve = async (name: string, wanted: number | null): Promise<number | null> => {
  const lab = requireDaemonLab(name)
  const client = new LabDaemonClient(lab.keeper.socket, lab.name)
  if (isAttached(lab)) return serveInContainer(lab.keeper, client, wanted)
  if (lab.state !== 'running') throw new LabError('conflict', `the lab "${name}" is not running`)
  const toxiproxyPort = await client.setToxiproxyPort(wanted)
  // A restarted lab daemon listens on the same port.
  saveLab({ ...lab, keeper: { ...lab.keeper, toxiproxyPort } })
  return toxiproxyPort
}

/**
 * Enables or disables the API of a lab daemon in a container, which has published one port that cannot change. Rejects
 * with LabError `usage` for another port.
 */
const serveInContainer = async (
  { toxiproxyPort: published = null }: LabDaemonAccess,
  client: LabDaemonClient,
  wanted: number | null,
): Promise<number | null> => {
  if (wanted !== null && (published === null || ![TOXIPROXY_PORT, published].includes(wanted))) {
    const text = published === null ? 'does not publish the Toxiproxy API' : `publishes it on port ${published} only`
    throw new LabError('usage', `the Toxiproxy API cannot listen on port ${wanted}: the container ${text}`)
  }
  await client.setToxiproxyPort(wanted === null ? null : TOXIPROXY_PORT)
  return wanted === null ? null : published
}

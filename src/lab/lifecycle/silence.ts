import { type AnyLab, describeServer, isAttached, serversOfLab } from '../model/cluster.js'
import { commandIn, findLab } from '../model/lab-directory.js'
import { listLabs } from '../model/state-directory.js'
import type { LabHost } from '../processes/lab-host.js'

/**
 * Explains why a local lab server does not respond, with the command that fixes it. Undefined if the address belongs to no lab,
 * or the server is running.
 */
export const explainSilence = (url: string, { servers }: Pick<LabHost, 'servers'>): string | undefined => {
  for (const lab of listLabs().map(findReadable)) {
    if (!lab || isAttached(lab)) continue
    const server = serversOfLab(lab).find(({ apiAddress }) => url.startsWith(`${apiAddress}/`))
    if (!server) continue
    const { name } = server
    const found = servers.find(server.configFile, server.process ?? undefined)
    if (!found) return `${describeServer(name)} is stopped; "${commandIn(lab.name, `start ${name}`)}" starts it`
    if (found.isFrozen)
      return `${describeServer(name)} is paused; "${commandIn(lab.name, `resume ${name}`)}" lets it go on`
  }
  return undefined
}

const findReadable = (name: string): AnyLab | undefined => {
  try {
    return findLab(name)
  } catch {
    return undefined
  }
}

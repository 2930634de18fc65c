import { packageVersion } from '../../base/package-version.js'
import type { LiveLab } from '../live-lab.js'
import type { DrillVersions } from './result.js'

/** Versions of the programs that a drill was played with. A server that does not answer is not listed. */
export const versionsOf = async (lab: LiveLab): Promise<DrillVersions> => {
  const servers = await Promise.all(
    lab.clusters.map(async ({ name }) => {
      const { json } = await lab
        .anonymous(name)
        .send('GET', 'sys/health')
        .catch(() => ({ json: undefined }))
      return typeof json?.version === 'string' ? [[name, json.version] as const] : []
    }),
  )
  return { understudy: packageVersion(), node: process.version, servers: Object.fromEntries(servers.flat()) }
}

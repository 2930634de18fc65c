import { type LabRecord, portsOf, serversOfLab } from '../model/cluster.js'
import { isFree } from '../model/ports.js'

/** Returns a port of a stopped lab that another process uses. Undefined if there is none. */
export const findTakenPort = async ({ clusters, keeper, etcd }: LabRecord): Promise<number | undefined> => {
  const own = [...serversOfLab({ clusters }).flatMap(portsOf), ...(etcd?.ports ?? [])]
  for (const port of [...own, ...keeper.routes.map((route) => route.port)]) if (!(await isFree(port))) return port
  return undefined
}

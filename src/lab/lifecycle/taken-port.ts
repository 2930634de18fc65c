import { type LabRecord, portsOf, serversOfLab } from '../model/cluster.js'
import { isFree } from '../model/ports.js'

/** A port of a lab that is down on which somebody else listens; undefined when there is none. */
export const findTakenPort = async ({ clusters, keeper, etcd }: LabRecord): Promise<number | undefined> => {
  const own = [...serversOfLab({ clusters }).flatMap(portsOf), ...(etcd?.ports ?? [])]
  for (const port of [...own, ...keeper.routes.map((route) => route.port)]) if (!(await isFree(port))) return port
  return undefined
}

import { type PortPair, randomPorts } from '../../src/lab/model/ports.js'

export const freePorts = async (): Promise<PortPair> => {
  const ports = (await randomPorts(['A'])).get('A')
  if (!ports) throw new Error('no ports')
  return ports
}

/** Ports that the system chooses, for a server that no other server calls. */
export const ANY_PORTS: PortPair = { api: 0, cluster: 0 }

/** Returns the configuration of a server on these ports. Data is in memory by default. */
export const localConfig = <More extends object>({ api, cluster }: PortPair, more: More = {} as More) => ({
  listener: { tcp: { address: `127.0.0.1:${api}`, cluster_address: `127.0.0.1:${cluster}`, tls_disable: true } },
  storage: { inmem: {} },
  api_addr: `http://127.0.0.1:${api || 1}`,
  cluster_addr: `https://127.0.0.1:${cluster || 1}`,
  ...more,
})

/** Returns the flags of a development server with this root token. */
export const devFlags = ({ api }: PortPair, root: string): string[] => [
  '-dev',
  `-dev-listen-address=127.0.0.1:${api}`,
  `-dev-root-token-id=${root}`,
]

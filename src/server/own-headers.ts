import os from 'node:os'
import type { ServerConfig } from './config/config.js'

/** What each answer of the API says of the server that gives it, as it is configured: names and values in turns. */
export const ownHeadersOf = ({
  responseHeaders: { hasHostname, hasNodeId },
  storage: { label, nodeId },
}: Pick<ServerConfig, 'responseHeaders' | 'storage'>): readonly string[] => [
  ...(hasHostname ? ['X-Vault-Hostname', printable(os.hostname())] : []),
  ...(hasNodeId && label === 'raft' ? ['X-Vault-Raft-Node-ID', printable(nodeId)] : []),
]

/** The characters that a header can have. */
const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?')

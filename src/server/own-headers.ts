import os from 'node:os'
import type { ServerConfig } from './config/config.js'

/** Returns the configured headers that identify the server in each API response: alternating names and values. */
export const ownHeadersOf = ({
  responseHeaders: { hasHostname, hasNodeId },
  storage: { label, nodeId },
}: Pick<ServerConfig, 'responseHeaders' | 'storage'>): readonly string[] => [
  ...(hasHostname ? ['X-Vault-Hostname', printable(os.hostname())] : []),
  ...(hasNodeId && label === 'raft' ? ['X-Vault-Raft-Node-ID', printable(nodeId)] : []),
]

/** Replaces characters that are not allowed in a header. */
const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?')

import { isUrl } from './addresses.js'
import type { RetryJoin } from './config.js'
import type { ConfigSources } from './sources.js'
import { RETRY_JOIN_KEYS } from './tables.js'
import { readKeys, type Stanza } from './tree.js'
import { textOf } from './values.js'

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']

/** Returns the nodes that a server without a cluster tries to join: those of its `retry_join` blocks, except itself. */
export const resolveRetryJoin = (stanza: Stanza, sources: ConfigSources): readonly RetryJoin[] => {
  const { findings } = sources
  const file = stanza.origin.replace(/:\d+$/, '')
  const own = ownAddresses(sources)
  return joinBlocks(stanza).flatMap(({ line, body }) => {
    const values = readKeys(body?.items ?? [], RETRY_JOIN_KEYS, file, findings)
    const address = textOf(sources.expand('leader_api_addr', values.leader_api_addr)).replace(/\/+$/, '')
    const text = (key: string) => textOf(values[key])
    if (own.has(normalise(address))) return []
    if (!/^https?:\/\//.test(address) || !isUrl(address)) {
      findings.problems.push({ origin: `${file}:${line}`, text: 'retry_join needs a URL as leader_api_addr' })
      return []
    }
    return [
      {
        address,
        caFile: text('leader_ca_cert_file'),
        clientCertFile: text('leader_client_cert_file'),
        clientKeyFile: text('leader_client_key_file'),
        caPem: text('leader_ca_cert'),
        clientCertPem: text('leader_client_cert'),
        clientKeyPem: text('leader_client_key'),
        serverName: text('leader_tls_servername'),
      },
    ]
  })
}

const ownAddresses = ({ files, env }: ConfigSources): ReadonlySet<string> => {
  const own = new Set(
    [
      env.VAULT_API_ADDR,
      env.VAULT_REDIRECT_ADDR,
      env.VAULT_CLUSTER_ADDR,
      textOf(files.root.api_addr),
      textOf(files.root.cluster_addr),
    ]
      .filter(Boolean)
      .map(normalise),
  )
  // A loopback address with a listener's port is the server itself.
  for (const { values } of files.listeners) {
    const port = /:(\d+)$/.exec(textOf(values.address))?.[1] ?? '8200'
    for (const host of LOOPBACK) own.add(`${host}:${port}`)
  }
  return own
}

/** Returns all `retry_join` blocks, including a JSON list. An invalid one has no body. */
const joinBlocks = (stanza: Stanza) =>
  stanza.body.items
    .filter(({ key }) => key === 'retry_join')
    .flatMap(({ value, line }) =>
      (value.kind === 'list' ? value.values : [value]).map((one) => ({
        line,
        body: one.kind === 'object' ? one.body : undefined,
      })),
    )

const normalise = (address: string | undefined): string =>
  (address ?? '').replace(/^https?:\/\//, '').replace(/\/$/, '')

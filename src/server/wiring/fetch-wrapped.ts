import type { Network } from '../../base/network.js'
import type { WrappedCall } from '../../replication/host/host.js'
import { apiUrl, callApi } from './api-call.js'

/** Looks up or unwraps a wrapping token at the API of the cluster that created it, over the injected network. */
export const fetchWrapped = async (call: WrappedCall, network: Network): Promise<{ status: number; body: string }> => {
  const { address, step, token, signal, caPems, clientCertPem, clientKeyPem } = call
  return callApi(
    {
      url: apiUrl(address, `sys/wrapping/${step}`),
      method: 'PUT',
      token,
      tls: { caPems, clientCertPem, clientKeyPem },
      signal,
      authorityHint: 'check ca_file, ca_path or ca_cert',
    },
    network,
  )
}

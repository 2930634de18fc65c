import { once } from 'node:events'
import net from 'node:net'
import { expect, it } from 'vitest'
import { systemNetwork } from '../../../src/base/network.js'
import { LogicalError } from '../../../src/logical/errors.js'
import { callApi } from '../../../src/server/wiring/api-call.js'

it.each(['http', 'https'])(
  'a call to a peer that accepts the connection and never speaks %s ends with the signal',
  async (scheme) => {
    const mute = net.createServer().listen(0, '127.0.0.1')
    await once(mute, 'listening')
    const { port } = mute.address() as net.AddressInfo
    const taken = once(mute, 'connection') as Promise<[net.Socket]>
    const stop = new AbortController()
    const call = callApi(
      {
        url: new URL(`${scheme}://127.0.0.1:${port}/v1/sys/health`),
        method: 'GET',
        token: '',
        tls: { caPems: [], clientCertPem: '', clientKeyPem: '' },
        authorityHint: '',
        signal: stop.signal,
      },
      systemNetwork,
    ).catch((error: unknown) => error)
    const [socket] = await taken
    socket.on('error', () => undefined)
    await once(socket, 'data')
    const closed = once(socket.resume(), 'close')
    stop.abort(new LogicalError('unavailable', 'stopping'))
    expect(await call).toBeInstanceOf(LogicalError)
    await closed
    mute.close()
  },
)

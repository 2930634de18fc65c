import { limitSignal } from '../../../base/linked-signal.js'
import { LogicalError } from '../../../logical/errors.js'
import { withoutScheme } from '../addresses.js'
import type { ClusterTransport, ConnectOptions, PrimaryConnection } from '../transport.js'
import { Identities } from './identity.js'
import { Session } from './session.js'
import { SimulatedConnection } from './simulated-connection.js'
import { type PortOptions, SimulatedPort } from './simulated-port.js'
import type { Wire } from './wire.js'

/**
 * Options of the transport. Transports that connect to each other can share `identities`, the cache of verified
 * identities.
 */
type SimulatedTransportOptions = Omit<PortOptions, 'identities'> & Partial<Pick<PortOptions, 'identities'>>

/** Creates a transport with messages inside the process. `times` and `log` apply to the port. */
export const createSimulatedTransport = (given: SimulatedTransportOptions): ClusterTransport => {
  const options = { identities: new Identities(), ...given }
  return {
    listen: async (address) => new SimulatedPort(address, options),
    connect: (address, call) => connect(withoutScheme(address), options, call),
  }
}

const connect = async (
  address: string,
  { network, clock, identities }: PortOptions,
  { credentials, times, signal, recorder }: ConnectOptions,
): Promise<PrimaryConnection> => {
  signal.throwIfAborted()
  const timeoutMs = times.connectTimeoutMs
  const late = new LogicalError('unavailable', `no connection to ${address} within ${Math.round(timeoutMs)} ms`)
  using limit = limitSignal(clock, timeoutMs, signal, late)
  const wire = await network.dial(address, limit.signal)
  const { certificate, privateKey, serverName } = credentials
  try {
    identities.requireOwnKey(certificate, privateKey)
    wire.send({ is: 'hello', serverName, certificate })
    return await welcomed(wire, address, limit.signal, (reply) => {
      identities.requirePrimary(reply, credentials)
      return new SimulatedConnection(address, new Session(wire, { clock, times }), clock, recorder)
    })
  } catch (error) {
    wire.close()
    throw error
  }
}

/**
 * Waits for the certificate of the peer and passes it to `begin`. Resolves to its result. `begin` runs before any other
 * message can arrive.
 */
const welcomed = <T>(wire: Wire, address: string, signal: AbortSignal, begin: (certificate: string) => T): Promise<T> =>
  new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    wire.listen({
      onMessage: (message) => {
        if (message.is !== 'welcome') return reject(new LogicalError('unavailable', `${address} is not a primary`))
        try {
          resolve(begin(message.certificate))
        } catch (error) {
          reject(error)
        }
      },
      onClose: () => reject(new LogicalError('unavailable', `${address} closed the connection`)),
    })
  })

import http from 'node:http'
import net from 'node:net'
import type { Duplex } from 'node:stream'
import tls from 'node:tls'
import { linkText } from '../../base/link-text.js'
import { formatHostPort, type Network } from '../../base/network.js'
import { LogicalError } from '../../logical/errors.js'
import type { WrappedCall } from '../../replication/host.js'

const CONNECT_TIMEOUT_MS = 10_000
/** An activation bundle is a few kilobytes; nothing larger is read from somebody who only claims to be a primary. */
const ANSWER_BYTES_MAX = 1 << 20

/** Asks about a wrapping token, or spends it, at the API of the cluster that made it, over the injected network. */
export const fetchWrapped = async (call: WrappedCall, network: Network): Promise<{ status: number; body: string }> => {
  const url = parseUrl(call)
  const isTls = url.protocol === 'https:'
  const port = Number(url.port || (isTls ? 443 : 80))
  const host = url.hostname.replace(/^\[|\]$/g, '')
  try {
    const raw = await network.dial(formatHostPort(host, port), { timeoutMs: CONNECT_TIMEOUT_MS, signal: call.signal })
    const socket = isTls ? await secure(raw, host, call) : raw
    return await send(url, socket, call)
  } catch (cause) {
    if (cause instanceof LogicalError) throw cause
    const authorityHint = 'check ca_file, ca_path or ca_cert'
    throw new LogicalError('unavailable', `PUT ${url.href}: ${linkText(cause, { isTls, authorityHint })}`, { cause })
  }
}

const parseUrl = ({ address, step }: WrappedCall): URL => {
  const text = `${address.replace(/\/+$/, '')}/v1/sys/wrapping/${step}`
  const isApi = /^https?:\/\/[^/]/i.test(text) && URL.canParse(text)
  if (!isApi) throw new LogicalError('invalid-request', `"${address}" is not the address of an API`)
  return new URL(text)
}

const secure = (raw: Duplex, host: string, call: WrappedCall): Promise<Duplex> =>
  new Promise((resolve, reject) => {
    const socket = tls.connect({
      socket: raw,
      ...(net.isIP(host) ? {} : { servername: host }),
      host,
      ...(call.caPems.length > 0 ? { ca: [...call.caPems] } : {}),
      ...(call.clientCertPem === '' ? {} : { cert: call.clientCertPem, key: call.clientKeyPem }),
    })
    socket.once('error', reject)
    socket.once('secureConnect', () => resolve(socket))
  })

const send = (url: URL, socket: Duplex, { token, signal }: WrappedCall): Promise<{ status: number; body: string }> =>
  new Promise((resolve, reject) => {
    const request = http.request(
      {
        method: 'PUT',
        path: url.pathname,
        headers: {
          Host: url.host,
          'X-Vault-Token': token,
          'X-Vault-Request': 'true',
          Connection: 'close',
          'Content-Length': '0',
        },
        createConnection: () => socket as net.Socket,
        signal,
      },
      (answer) => {
        const chunks: Buffer[] = []
        let bytes = 0
        answer.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes > ANSWER_BYTES_MAX) answer.destroy(new Error('the answer is too large'))
          chunks.push(chunk)
        })
        answer.on('error', reject)
        answer.on('end', () => {
          socket.destroy()
          resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') })
        })
      },
    )
    request.on('error', reject)
    request.end()
  })

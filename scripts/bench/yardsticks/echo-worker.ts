import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Bare node:http: reads a JSON body and returns it. It is the upper limit for servers on this platform. */
const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const text = chunks.length === 1 ? String(chunks[0]) : Buffer.concat(chunks).toString('utf8')
    const body = JSON.stringify(text === '' ? {} : JSON.parse(text))
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
    response.end(body)
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1')
process.on('message', () => process.send?.((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit(0))

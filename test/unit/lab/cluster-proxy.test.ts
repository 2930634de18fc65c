import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import express, { type Response } from 'express'
import { expect, it, onTestFinished } from 'vitest'
import type { AnyLab } from '../../../src/lab/model/cluster.js'
import { LabError } from '../../../src/lab/model/lab-error.js'
import { proxyClusters } from '../../../src/lab/web/server/cluster-proxy.js'
import { sendRefusal } from '../../../src/lab/web/server/refusal.js'

/** A lab that does not exist: the proxy responds with 502 to requests that it would forward. */
const noLab = () => {
  throw new LabError('remote', 'there is no lab')
}

const serve = async (isReadOnly: boolean, lab: () => AnyLab = noLab) => {
  const responses: Response[] = []
  const app = express()
  app.use((_, response, next) => {
    responses.push(response)
    next()
  })
  app.use(proxyClusters({ lab, isReadOnly }), sendRefusal)
  const server = http.createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.closeAllConnections())
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const post = async (path: string) => {
    const url = `http://127.0.0.1:${port}/_understudy/v1/clusters/A/v1/${path}`
    return (await fetch(url, { method: 'POST', body: '{}' })).status
  }
  return { port, post, responses }
}

it('the cluster proxy rejects an incomplete body, without an error of the process', async () => {
  const { port, responses } = await serve(false)
  const socket = net.connect(port, '127.0.0.1')
  socket.write('POST /_understudy/v1/clusters/A/v1/secret/x HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\n{}')
  await expect.poll(() => responses.length).toBe(1)
  socket.destroy()
  await expect.poll(() => responses[0]?.statusCode).toBe(400)
})

it.each([
  'auth/userpass/users/login',
  'auth/token/roles/login',
  'auth/approle/role/login/secret-id',
  'auth/approle/role/login',
  'secret/login',
])('the cluster proxy of a read-only page rejects %s', async (path) => {
  const { post } = await serve(true)
  expect(await post(path)).toBe(403)
})

it.each(['auth/approle/login', 'auth/people/login/anna', 'auth/token/revoke-self'])(
  'the cluster proxy of a read-only page forwards %s',
  async (path) => {
    const { post } = await serve(true)
    expect(await post(path)).toBe(502)
  },
)

it('the cluster proxy answers 502 for a cluster that sends an invalid status', async () => {
  const hostile = net.createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end('HTTP/1.1 099 Bad\r\nContent-Length: 0\r\n\r\n'))
  })
  await new Promise<void>((resolve) => hostile.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void hostile.close())
  const apiAddress = `http://127.0.0.1:${(hostile.address() as AddressInfo).port}`
  const { post } = await serve(false, () => ({ clusters: [{ name: 'A', apiAddress, rootToken: '' }] }) as never)
  expect(await post('secret/x')).toBe(502)
})

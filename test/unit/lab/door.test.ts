import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import type { AnyLab } from '../../../src/lab/model/cluster.js'
import { LabError } from '../../../src/lab/model/lab-error.js'
import { answerDoor } from '../../../src/lab/web/server/door.js'
import type { Reply } from '../../../src/lab/web/server/reply.js'

/** A lab that is gone: what gets past the door is answered with 502. */
const noLab = () => {
  throw new LabError('remote', 'there is no lab')
}

const serve = async (isReadOnly: boolean, lab: () => AnyLab = noLab) => {
  const replies: Promise<Reply>[] = []
  const server = http.createServer((request, response) => {
    const reply = answerDoor({ lab, isReadOnly }, request, '')
    replies.push(reply)
    void reply.then(({ status, body }) => response.writeHead(status).end(body)).catch(() => undefined)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.closeAllConnections())
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const post = async (path: string) => {
    const url = `http://127.0.0.1:${port}/_understudy/v1/clusters/A/v1/${path}`
    return (await fetch(url, { method: 'POST', body: '{}' })).status
  }
  return { port, post, replies }
}

it('answers whoever goes away in the middle of a body, so that nobody else notices', async () => {
  const { port, replies } = await serve(false)
  const socket = net.connect(port, '127.0.0.1')
  socket.write('POST /_understudy/v1/clusters/A/v1/secret/x HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\n{}')
  await expect.poll(() => replies.length).toBe(1)
  socket.destroy()
  expect(await replies[0]).toMatchObject({ status: 400 })
})

it.each([
  'auth/userpass/users/login',
  'auth/token/roles/login',
  'auth/approle/role/login/secret-id',
  'auth/approle/role/login',
  'secret/login',
])('takes no %s on a page that is only to look at', async (path) => {
  const { post } = await serve(true)
  expect(await post(path)).toBe(403)
})

it.each(['auth/approle/login', 'auth/people/login/anna', 'auth/token/revoke-self'])(
  'lets %s through on a page that is only to look at',
  async (path) => {
    const { post } = await serve(true)
    expect(await post(path)).toBe(502)
  },
)

it('answers 502 for a cluster whose server sends a status that is none', async () => {
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

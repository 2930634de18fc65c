import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type StartedUnderstudyLab, UnderstudyContainer, UnderstudyLab } from '../../src/testcontainers/index.js'
import { IMAGE } from './image.js'

/** The Testcontainers classes of the package. */

describe('UnderstudyContainer', () => {
  it('UnderstudyContainer starts an unsealed server with the given root token and settings', async () => {
    const server = await new UnderstudyContainer(IMAGE)
      .withRootToken('of-my-own')
      .withSettings({ reported_version: '1.19.0+ent' })
      .start()
    try {
      await server.client.write('secret/data/greeting', { data: { word: 'hello' } })
      expect((await server.client.read('secret/data/greeting')).data).toMatchObject({ data: { word: 'hello' } })
      expect((await server.client.send('GET', 'sys/health')).json).toMatchObject({ version: '1.19.0+ent' })
      expect((await server.client.read('auth/token/lookup-self')).data).toMatchObject({ id: 'of-my-own' })
    } finally {
      await server.stop()
    }
  })
})

describe('UnderstudyLab', () => {
  let lab: StartedUnderstudyLab
  beforeAll(async () => {
    lab = await new UnderstudyLab('pr-dr', { image: IMAGE }).start()
  })
  afterAll(() => lab?.stop())

  it('UnderstudyLab cuts the link between two clusters until it is healed', async () => {
    const [a, c] = [lab.cluster('A'), lab.cluster('C')]
    await a.client.write('sys/mounts/cut', { type: 'kv', options: { version: '1' } })
    await lab.converged()
    await lab.link('A', 'C').partition()
    await a.client.write('cut/greeting', { word: 'late' })
    await expect.poll(async () => (await c.status('performance')).connection_state).not.toBe('ready')
    expect((await c.client.send('GET', 'cut/greeting')).status).toBe(404)
    expect(await lab.problems()).toContainEqual(expect.stringContaining('A-C'))
    await lab.link('C', 'A').heal()
    await lab.healthy()
    expect((await c.client.read('cut/greeting')).data).toEqual({ word: 'late' })
    expect(() => lab.link('A', 'D')).toThrow('has no cluster D')
  })

  it('UnderstudyLab starts containers that replicate and switch over', async () => {
    const [a, b, c] = [lab.cluster('A'), lab.cluster('B'), lab.cluster('C')]
    await a.client.write('sys/mounts/kv', { type: 'kv', options: { version: '1' } })
    await a.client.write('kv/greeting', { word: 'hello' })
    await lab.converged()
    expect((await c.client.read('kv/greeting')).data).toEqual({ word: 'hello' })
    await lab.switchover('A', 'B')
    expect((await b.client.read('kv/greeting')).data).toEqual({ word: 'hello' })
    expect(await a.token()).toBeUndefined()
    const { exitCode, output } = await b.container.exec(['vault', 'status', '-address=http://127.0.0.1:8200'])
    expect(exitCode, output).toBe(0)
  })

  it('UnderstudyLab rejects unknown topologies and options before it starts a container', () => {
    expect(() => new UnderstudyLab('pr-rd')).toThrow(/did you mean "pr-dr"/)
    expect(() => new UnderstudyLab('dr', { imgae: 'x' } as object)).toThrow(/did you mean "image"/)
  })
})

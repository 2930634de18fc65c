import { expect, it } from 'vitest'
import { LabHome } from '../support/lab-home.js'
import { until } from '../support/until.js'

/** A load balancer in front of several nodes of a lab that the command line starts. */

const word = (home: LabHome, cluster: string) => home.vault(cluster, 'kv', 'get', '-field=word', 'kv/greeting')

it.each([[[]], [['--storage', 'raft']], [['--in-process']]])(
  'secondaries find the active node behind the load balancer: up lb --nodes 3 %j',
  { timeout: 600_000 },
  async (flags) => {
    await using home = new LabHome()
    await home.passes('up', 'lb', '--nodes', '3', '--ports', 'random', '--timeout', '3m', ...flags)
    expect(await home.vault('A', 'secrets', 'enable', '-path=kv', 'kv')).toMatchObject({ status: 0 })
    const { balancer, nodes = [] } = home.record('default').clusters[0] ?? {}
    const health = async () => {
      const answer = await fetch(`http://127.0.0.1:${balancer?.api}/v1/sys/leader`).catch(() => undefined)
      return (await answer?.json()) as { is_self?: boolean } | undefined
    }
    expect(await health()).toMatchObject({ is_self: true, leader_address: `http://127.0.0.1:${balancer?.api}` })
    await home.passes('crash', nodes[0]?.name ?? '')
    await until(async () => (await health())?.is_self === true)
    expect(await home.vault('C', 'kv', 'put', 'kv/greeting', 'word=by the next')).toMatchObject({ status: 0 })
    await until(async () => (await word(home, 'C')).stdout.trim() === 'by the next')
    await home.passes('start', nodes[0]?.name ?? '')
    await home.passes('wait', '--for', 'converged', '--timeout', '1m')
    await home.passes('down')
  },
)

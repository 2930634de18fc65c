import {
  startLab,
  LabError,
  type LabCluster,
  type SimulatedLabCluster,
  type SimulatedLabNode,
  type StoppedCluster,
} from 'understudy-lab'
export const main = async (): Promise<void> => {
  const lab = await startLab('pr-dr', { seed: 42, settings: { heartbeat_interval: '100ms' } })
  const a: LabCluster = lab.A
  const stopped: StoppedCluster = await a.stop()
  // @ts-expect-error a stopped cluster has no client
  stopped.client
  // @ts-expect-error no such cluster
  lab.Z
  // @ts-expect-error no such setting
  await startLab('pr', { settings: { hartbeat_interval: '1s' } })
  // @ts-expect-error no such option
  await startLab('pr', { sead: 1 })
  // @ts-expect-error no such topology
  await startLab('pr-rd')
  // @ts-expect-error no such cluster
  await lab.failover('A', 'Z')
  const own = await startLab({ name: 'two', about: '', clusters: ['X', 'Y'], links: [] })
  await own.activate('X', 'Y', { kind: 'dr' })
  // @ts-expect-error no such option
  await lab.healthy({ timeout: 1 })
  const filed = await startLab('./topology.yaml')
  filed.cluster('A')
  const virtual = await startLab('dr', { simulated: true, nodes: 3 })
  await virtual.A.activeNode.crash()
  await (await virtual.A.active()).stop()
  const crashed = await virtual.A.crash()
  // @ts-expect-error a stopped cluster has no client
  crashed.client
  const again: SimulatedLabCluster = await crashed.start()
  await (await again.stop()).start()
  const led: SimulatedLabNode = await virtual.B.stepDown()
  // @ts-expect-error it has no address
  led.address
  if (new Error() instanceof LabError) return
}

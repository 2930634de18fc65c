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
  // @ts-expect-error a simulated cluster has no address
  led.address
  // @ts-expect-error no such option
  await startLab('pr', { simulate: true })
  const real = await startLab('pr', { simulated: false, storage: 'disk' })
  real.A.address
  const either = await startLab('pr', { simulated: process.env.VIRTUAL === '1', seed: 42, nodes: 3 })
  await either.A.activeNode.crash()
  await (await either.A.crash()).start()
  await either.failover('A', 'C')
  await either.clock.advance('1h')
  // @ts-expect-error only labs that are not simulated have this member
  either.A.address
  // @ts-expect-error no such cluster
  either.Z
  if (new Error() instanceof LabError) return
}

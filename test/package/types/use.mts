import { startLab, LabError, type LabCluster, type StoppedCluster } from 'understudy-lab'
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
  if (new Error() instanceof LabError) return
}

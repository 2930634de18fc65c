import type { EtcdProcess } from './etcd.js'

/** A question to etcd itself. */
export const ask = async (etcd: EtcdProcess, path: string, body: object): Promise<Record<string, unknown>> => {
  const answer = await fetch(`http://${etcd.address}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) })
  return (await answer.json()) as Record<string, unknown>
}

/** What an operator does about a full etcd. It may fill again at once: what waits to be written has its turn, too. */
export const makeRoom = async (etcd: EtcdProcess): Promise<void> => {
  const { header } = (await ask(etcd, 'kv/range', { key: 'AA==' })) as { header: { revision: string } }
  await ask(etcd, 'kv/compaction', { revision: header.revision, physical: true })
  await ask(etcd, 'maintenance/defragment', {})
  const { alarms = [] } = (await ask(etcd, 'maintenance/alarm', { action: 'GET' })) as { alarms?: object[] }
  for (const alarm of alarms) await ask(etcd, 'maintenance/alarm', { ...alarm, action: 'DEACTIVATE' })
}

import type { EtcdProcess } from './etcd.js'

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** A question to etcd itself. */
export const ask = async (etcd: EtcdProcess, path: string, body: object): Promise<Record<string, unknown>> => {
  const answer = await fetch(`http://${etcd.address}/v3/${path}`, { method: 'POST', body: JSON.stringify(body) })
  return (await answer.json()) as Record<string, unknown>
}

const FILLING = { key: base64('/somebody-else/'), range_end: base64('/somebody-else0') }

/** Somebody else whose keys are in the same etcd leaves no room in it. */
export const fill = async (etcd: EtcdProcess): Promise<void> => {
  const value = Buffer.alloc(1024 * 1024, 'x').toString('base64')
  for (let count = 0; ; count++) {
    const key = base64(`/somebody-else/${count}`)
    if ('error' in (await ask(etcd, 'kv/put', { key, value }))) return
  }
}

/** What an operator does about a full etcd. It may fill again at once: what waits to be written has its turn, too. */
export const makeRoom = async (etcd: EtcdProcess): Promise<void> => {
  const { header } = (await ask(etcd, 'kv/deleterange', FILLING)) as { header: { revision: string } }
  await ask(etcd, 'kv/compaction', { revision: header.revision, physical: true })
  await ask(etcd, 'maintenance/defragment', {})
  const { alarms = [] } = (await ask(etcd, 'maintenance/alarm', { action: 'GET' })) as { alarms?: object[] }
  for (const alarm of alarms) await ask(etcd, 'maintenance/alarm', { ...alarm, action: 'DEACTIVATE' })
}

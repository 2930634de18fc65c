import type { Session } from '../command.js'
import { remoteError } from '../model/cli-error.js'
import { isMap } from '../model/json-map.js'
import { goText } from '../render/go-text.js'
import { textOf } from '../model/secret.js'

const POLL_MS = 250

/** Moves a mount and waits until the move is complete. `prefix`: the API prefix of paths of this kind. */
export const moveMount = async (
  call: Session & { readonly args: readonly string[] },
  noun: string,
  prefix: '' | 'auth/',
): Promise<number> => {
  const { api, out } = call
  const [from = '', to = ''] = call.args.map((path) => `${path.replace(/^\/+|\/+$/g, '')}/`)
  const what = `Error moving ${noun} ${from} to ${to}`
  const body = { from: prefix + from, to: prefix + to }
  const { secret } = await api.request(what, 'POST', 'sys/remount', { body })
  const id = textOf(secret?.data?.migration_id)
  if (out.isTable) out.line(`Started moving ${noun} ${from} to ${to}, with migration ID ${id}`)
  await untilMoved(call, what, id)
  return out.success(`Finished moving ${noun} ${from} to ${to}, with migration ID ${id}`)
}

const untilMoved = async ({ api, io }: Session, what: string, id: string): Promise<void> => {
  for (;;) {
    const { secret } = await api.request(what, 'GET', `sys/remount/status/${id}`)
    const info = secret?.data?.migration_info
    const status = isMap(info) ? info.status : undefined
    if (status === 'success') return
    if (status !== 'in-progress') throw remoteError(`${what}: the move ended as ${goText(status)}`)
    await io.clock.sleep(POLL_MS)
  }
}

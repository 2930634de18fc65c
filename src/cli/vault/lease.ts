import { type Command, defineCommand } from './command.js'
import { localError } from './model/cli-error.js'
import { found } from './data.js'
import { flag } from './flags.js'
import { cleanPath } from './values.js'

const ONE_ID = { takes: 'ID', count: [1, 1] } as const

export const leaseCommands: readonly Command[] = [
  defineCommand({
    name: 'lease lookup',
    ...ONE_ID,
    summary: 'Print what is known about a lease',
    run: async ({ api, out, args: [id = ''] }) => {
      const body = { lease_id: cleanPath(id) }
      const { secret } = await api.request(`error looking up lease id ${id}`, 'PUT', 'sys/leases/lookup', { body })
      return out.secret(found(secret, id))
    },
  }),
  defineCommand({
    name: 'lease renew',
    ...ONE_ID,
    summary: 'Make a lease last longer',
    flags: { increment: flag.duration('How much longer.', { aliases: ['i'] }) },
    run: async ({ api, out, args: [id = ''], flags }) => {
      const body = { lease_id: cleanPath(id), increment: flags.increment ?? 0 }
      const { secret } = await api.request(`Error renewing ${id}`, 'PUT', 'sys/leases/renew', { body })
      return out.secret(found(secret, id))
    },
  }),
  defineCommand({
    name: 'lease revoke',
    ...ONE_ID,
    summary: 'End a lease, or with -prefix all below a path',
    flags: {
      prefix: flag.bool('The argument is a path; all leases below it end.'),
      force: flag.bool('Forget leases even where their backend fails; with -prefix only.', { aliases: ['f'] }),
      sync: flag.bool('Wait until the leases are ended.'),
    },
    run: async ({ api, out, args: [rawId = ''], flags }) => {
      const id = cleanPath(rawId)
      const { force, prefix, sync } = flags
      if (force && !prefix) throw localError('Specifying -force requires also specifying -prefix')
      const path = !prefix ? 'sys/leases/revoke' : `sys/leases/revoke-${force ? 'force' : 'prefix'}/${id}`
      const body = prefix ? { sync } : { lease_id: id, sync }
      const what = prefix ? `Error revoking leases with prefix ${id}` : `Error revoking lease ${id}`
      await api.request(what, 'PUT', path, { body })
      if (!sync && !force) {
        if (out.isTable) out.line('All revocation operations queued successfully!')
        return 0
      }
      return out.success(prefix ? `Revoked any leases with prefix: ${id}` : `Revoked lease: ${id}`)
    },
  }),
]

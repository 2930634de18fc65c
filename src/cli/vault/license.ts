import { type Command, defineCommand } from './command.js'
import { found } from './data.js'
import { flag } from './flags.js'

const STATUS = 'sys/license/status'
const DR_STATUS = 'sys/replication/dr/secondary/license/status'

export const licenseCommands: readonly Command[] = [
  defineCommand({
    name: 'license get',
    summary: 'Print what the server says about its licence',
    flags: { 'dr-token': flag.text('Operation token, for a DR secondary.') },
    run: async ({ api, out, flags: { 'dr-token': token } }) => {
      const path = token ? DR_STATUS : STATUS
      const options = token ? { query: { dr_operation_token: token } } : {}
      const { secret } = await api.request('Error retrieving license', 'GET', path, options)
      return out.secret(found(secret, path))
    },
  }),
]

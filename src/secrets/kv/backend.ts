import type { Backend, BackendContext, BackendType } from '../../logical/backend.js'
import { createKvV1 } from './v1.js'
import { createKvV2 } from './v2.js'

/** Creates version 1 unless the mount's option `version` is `2`. */
const createKv = (context: BackendContext): Backend =>
  context.mount.options.version === '2' ? createKvV2(context) : createKvV1(context)

export const kvType: BackendType = { name: 'kv', kind: 'secret', factory: createKv, localPrefixes: [] }

import type { FetchKeysReply, ForwardReply, ForwardRequest } from '../../src/replication/rpc/messages.js'
import type { Caller, ClusterService, PrimaryStream } from '../../src/replication/rpc/service.js'

const notScripted = async (): Promise<never> => {
  throw new Error('not scripted')
}

/** A service that does what a test says, and knows who called. */
export class ScriptedService implements ClusterService {
  readonly callers: Caller[] = []
  onForward: (payload: Buffer, caller: Caller) => Promise<Buffer> = async (payload) => payload
  onFetch: (caller: Caller) => AsyncIterable<FetchKeysReply> = async function* () {}
  onStream: (stream: PrimaryStream, caller: Caller) => Promise<void> = async () => undefined

  readonly bootstrap = notScripted
  readonly echo = notScripted
  readonly conflictingPages = notScripted
  readonly subPageHashes = notScripted
  readonly ping = notScripted
  readonly commonPosition = notScripted

  async forward(caller: Caller, { payload }: ForwardRequest): Promise<ForwardReply> {
    this.callers.push(caller)
    return { who: null, payload: await this.onForward(payload, caller) }
  }

  fetchKeys(caller: Caller): AsyncIterable<FetchKeysReply> {
    this.callers.push(caller)
    return this.onFetch(caller)
  }

  streamWals(caller: Caller, stream: PrimaryStream): Promise<void> {
    this.callers.push(caller)
    return this.onStream(stream, caller)
  }
}

import type { SealConfig } from '../../seal/config.js'

/** The cluster that a server without data is to be a node of, as far as the seal is concerned: its shares are wanted. */
export interface SealJoin {
  readonly config: SealConfig
  /** It has let this server in, whose data it is not yet: no share is wanted any more. */
  readonly hasJoined: boolean
  /** Shows the key of the shares to the cluster. False when it is not its; rejects with why it was not let in. */
  open(shareKey: Buffer): Promise<boolean>
}

import type { SealConfig } from '../../seal/config.js'

/** The cluster that a server without data is a node of, or is to be, as far as the seal is concerned. */
export interface SealJoin {
  readonly config: SealConfig
  /**
   * `wanted`: they show the cluster that this server may join. `needless`: it has let this server in, whose data it is not yet.
   * `too-early`: too few other nodes are there for this one to know what the shares are to open.
   */
  readonly shares: 'wanted' | 'needless' | 'too-early'
  /** Shows the key of the shares to the cluster. False when it is not its; rejects with why it was not let in. */
  open(shareKey: Buffer): Promise<boolean>
}

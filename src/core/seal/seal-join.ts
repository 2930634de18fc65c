import type { SealConfig } from '../../seal/config.js'

/** The cluster that a server without data belongs to, or is joining, as seen by the seal. */
export interface SealJoin {
  readonly config: SealConfig
  /**
   * `wanted`: shares authenticate this server to the cluster it may join. `needless`: the cluster has admitted this server,
   * whose data is still arriving. `too-early`: too few other nodes are present to know which cluster the shares open.
   */
  readonly shares: 'wanted' | 'needless' | 'too-early'
  /**
   * Presents the share key to the cluster. Returns false if the key is wrong; rejects with the reason if the cluster did not
   * admit this server.
   */
  open(shareKey: Buffer): Promise<boolean>
}

/** Callbacks for the barrier's opening and closing. */
export interface SealHooks {
  /**
   * Populates a new cluster while its barrier is open for the first time: mounts, policies, the first root token. Stops what
   * it starts; `onUnsealed` follows when the cluster is actually unsealed.
   */
  createCluster(): Promise<{ readonly rootToken: string }>
  /** Called when the barrier is open. If it throws, the cluster stays sealed. */
  onUnsealed(rootKey: Buffer): Promise<void>
  /** Called before the barrier closes: stops everything that reads through it. */
  onSealed(): Promise<void>
}

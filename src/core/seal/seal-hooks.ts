/** What happens to the cluster when its barrier opens and closes. */
export interface SealHooks {
  /**
   * Fills a new cluster while its barrier is open for the first time: mounts, policies, the first root token. It stops
   * what it starts; `onUnsealed` follows when the cluster is really opened.
   */
  createCluster(): Promise<{ readonly rootToken: string }>
  /** The barrier is open. What is thrown here leaves the cluster sealed. */
  onUnsealed(rootKey: Buffer): Promise<void>
  /** The barrier is about to close: stop what reads through it. */
  onSealed(): Promise<void>
}

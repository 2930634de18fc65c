/** Why a cluster rejects requests in one of its states. Clients match on these texts. */
export const SEALED_REFUSAL = 'Vault is sealed'
export const DR_REFUSAL = 'path disabled in replication DR secondary mode'
export const RESTARTING_REFUSAL = 'cluster is restarting after a replication change, try again'
export const STRANDED_REFUSAL =
  'the first copy of this performance secondary is not complete, and it has no primary: use sys/generate-root with the key ' +
  'shares of the primary, then performance/secondary/update-primary with a new token, or performance/secondary/disable'
export const REMOVED_REFUSAL =
  'this node was removed from its cluster; to join a cluster again, it needs an empty storage path'
export const AWAITING_NODES_REFUSAL =
  'too few nodes of the cluster are running: this node cannot be unsealed yet, try again when other nodes run'
export const CLOSED_REFUSAL = 'the cluster was closed before the request was executed, try again'
export const STOPPING_REFUSAL = 'the server is stopping'

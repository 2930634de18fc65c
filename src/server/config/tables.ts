/**
 * The keys of a configuration file as data: their types, and whether they have an effect. The names are Vault's, so that
 * existing files work. Keys accepted without effect are marked; rejected ones have an explanation.
 */
export type KeyKind = 'string' | 'bool' | 'int' | 'duration' | 'list' | 'address' | 'any'

interface Key {
  readonly kind: KeyKind
  /** `accepted`: read but without effect, since Understudy has nothing for it to change. */
  readonly effect?: 'accepted'
  /** The reason why the key is rejected. */
  readonly refusal?: string
  /** Explains what an accepted key does not do, if an operator may rely on it. */
  readonly warning?: string
}

export type KeyTable = Readonly<Record<string, Key>>

const accepted = (kind: KeyKind): Key => ({ kind, effect: 'accepted' })
const real = (kind: KeyKind): Key => ({ kind })

export const LISTENER_KEYS: KeyTable = {
  address: real('string'),
  cluster_address: real('string'),
  tls_disable: real('bool'),
  tls_cert_file: real('string'),
  tls_key_file: real('string'),
  tls_client_ca_file: real('string'),
  tls_require_and_verify_client_cert: real('bool'),
  tls_disable_client_certs: real('bool'),
  tls_min_version: real('string'),
  tls_max_version: real('string'),
  tls_cipher_suites: real('list'),
  tls_prefer_server_cipher_suites: accepted('bool'),
  max_request_size: real('int'),
  max_request_duration: real('duration'),
  http_read_header_timeout: real('duration'),
  http_read_timeout: real('duration'),
  http_idle_timeout: real('duration'),
  http_write_timeout: accepted('duration'),
  x_forwarded_for_authorized_addrs: real('list'),
  x_forwarded_for_hop_skips: real('int'),
  x_forwarded_for_reject_not_authorized: real('bool'),
  x_forwarded_for_reject_not_present: real('bool'),
  proxy_protocol_behavior: real('string'),
  proxy_protocol_authorized_addrs: real('list'),
  chroot_namespace: real('string'),
  redact_addresses: real('bool'),
  redact_cluster_name: real('bool'),
  redact_version: real('bool'),
  disable_replication_status_endpoints: real('bool'),
  telemetry: accepted('any'),
  profiling: accepted('any'),
  inflight_requests_logging: accepted('any'),
  custom_response_headers: { ...accepted('any'), warning: 'not supported, so no answer has these headers' },
}

export const STORAGE_KEYS: KeyTable = {
  path: real('string'),
  node_id: real('string'),
  performance_multiplier: accepted('any'),
  trailing_logs: accepted('any'),
  snapshot_threshold: accepted('any'),
  autopilot_reconcile_interval: accepted('any'),
  autopilot_update_interval: accepted('any'),
  retry_join: real('any'),
  retry_join_as_non_voter: accepted('any'),
  max_entry_size: accepted('any'),
  max_mount_and_namespace_table_entry_size: accepted('any'),
  snapshot_interval: accepted('any'),
  raft_wal: accepted('any'),
  raft_log_verifier_enabled: accepted('any'),
  raft_log_verification_interval: accepted('any'),
  autopilot_redundancy_zone: accepted('string'),
  autopilot_upgrade_version: accepted('string'),
}

const AUTO_JOIN: Key = { kind: 'any', refusal: 'nodes are not looked for; name them with leader_api_addr' }

export const RETRY_JOIN_KEYS: KeyTable = {
  leader_api_addr: real('string'),
  leader_ca_cert_file: real('string'),
  leader_client_cert_file: real('string'),
  leader_client_key_file: real('string'),
  leader_ca_cert: real('string'),
  leader_client_cert: real('string'),
  leader_client_key: real('string'),
  leader_tls_servername: real('string'),
  auto_join: AUTO_JOIN,
  auto_join_scheme: accepted('any'),
  auto_join_port: accepted('any'),
}

export const ETCD_STORAGE_KEYS: KeyTable = {
  address: real('string'),
  path: real('string'),
  ha_enabled: real('bool'),
  etcd_api: real('string'),
  username: real('string'),
  password: real('string'),
  tls_ca_file: real('string'),
  tls_cert_file: real('string'),
  tls_key_file: real('string'),
  request_timeout: real('duration'),
  lock_timeout: accepted('duration'),
  sync: accepted('any'),
  discovery_srv: { kind: 'string', refusal: 'discovery_srv is not supported; list the members as address' },
}

export const STATIC_SEAL_KEYS: KeyTable = {
  current_key_id: real('string'),
  current_key: real('string'),
  previous_key_id: real('string'),
  previous_key: real('string'),
  disabled: real('bool'),
}

export const TRANSIT_SEAL_KEYS: KeyTable = {
  address: real('string'),
  token: real('string'),
  key_name: real('string'),
  mount_path: real('string'),
  namespace: real('string'),
  disable_renewal: real('bool'),
  tls_ca_cert: real('string'),
  tls_client_cert: real('string'),
  tls_client_key: real('string'),
  tls_server_name: real('string'),
  tls_skip_verify: real('bool'),
  disabled: real('bool'),
}

export const REPLICATION_KEYS: KeyTable = {
  resolver_discover_servers: accepted('bool'),
  logshipper_buffer_length: accepted('int'),
  logshipper_buffer_size: accepted('any'),
  allow_forwarding_via_header: real('bool'),
  allow_forwarding_via_token: accepted('string'),
  best_effort_wal_wait_duration: real('duration'),
}

/** Keys of the stanza `understudy`, and UNDERSTUDY_<KEY> in the environment. */
export const OWN_KEYS = {
  reported_version: real('string'),
  license: real('string'),
  wal_retention_entries: real('int'),
  wal_retention_bytes: real('int'),
  ship_window_bytes: real('int'),
  ship_batch_bytes: real('int'),
  heartbeat_interval: real('duration'),
  keepalive_time: real('duration'),
  keepalive_timeout: real('duration'),
  reconnect_backoff_initial: real('duration'),
  reconnect_backoff_max: real('duration'),
  bootstrap_timeout: real('duration'),
  forwarding_timeout: real('duration'),
  ping_timeout: real('duration'),
  role_change_wait: real('duration'),
  step_down_rest: real('duration'),
  leader_lease: real('duration'),
  data_dir: real('string'),
  etcd_path: real('string'),
  etcd_peer_address: real('string'),
  demote_drain_timeout: real('duration'),
  fence_client_writes: real('bool'),
  allow_older_secondary: real('bool'),
  sync_writes: real('bool'),
  user_lockout: real('bool'),
  approle_tidy_interval: real('duration'),
  address_file: real('string'),
  lab_api: real('bool'),
  lab_api_token: real('string'),
  dial_routes: real('list'),
  simulate_seals: real('bool'),
  allow_generate_root_unauthenticated: real('bool'),
} as const satisfies KeyTable

export type OwnKey = keyof typeof OWN_KEYS

export const ROOT_KEYS: KeyTable = {
  api_addr: real('string'),
  cluster_addr: real('string'),
  cluster_name: real('string'),
  default_lease_ttl: real('duration'),
  max_lease_ttl: real('duration'),
  log_level: real('string'),
  log_format: real('string'),
  log_file: real('string'),
  pid_file: real('string'),
  disable_mlock: accepted('bool'),
  disable_cache: accepted('bool'),
  disable_clustering: real('bool'),
  disable_performance_standby: real('bool'),
  disable_sealwrap: accepted('bool'),
  disable_indexing: accepted('bool'),
  cache_size: accepted('any'),
  ui: real('bool'),
  raw_storage_endpoint: accepted('bool'),
  introspection_endpoint: accepted('bool'),
  plugin_directory: accepted('string'),
  plugin_tmpdir: accepted('string'),
  plugin_file_uid: accepted('any'),
  plugin_file_permissions: accepted('any'),
  disable_printable_check: accepted('bool'),
  allow_audit_log_prefixing: accepted('bool'),
  enable_unauthenticated_access: accepted('list'),
  remove_irrevocable_lease_after: accepted('duration'),
  unsafe_cross_namespace_identity: accepted('bool'),
  // Has an effect only in a listener's telemetry block.
  'telemetry.unauthenticated_metrics_access': accepted('bool'),
  enable_response_header_hostname: real('bool'),
  enable_response_header_raft_node_id: real('bool'),
  license_path: accepted('string'),
  administrative_namespace_path: accepted('string'),
  enable_post_unseal_trace: accepted('bool'),
  post_unseal_trace_directory: accepted('string'),
  imprecise_lease_role_tracking: accepted('bool'),
  detect_deadlocks: accepted('string'),
  log_requests_level: accepted('string'),
  log_rotate_duration: accepted('string'),
  log_rotate_bytes: accepted('any'),
  log_rotate_max_files: accepted('any'),
}

/** Top-level blocks that are read elsewhere, or accepted without checks. */
export const ACCEPTED_BLOCKS: ReadonlySet<string> = new Set([
  'telemetry',
  'reporting',
  'service_registration',
  'sentinel',
  'experiments',
  'entropy',
  'cloud',
  'hcp_link',
  'kms_library',
  'license_entitlement',
  'request_limiter',
  'adaptive_overload_protection',
])

/** Labels of `storage` whose data is lost when the process ends. */
export const MEMORY_LABELS: ReadonlySet<string> = new Set(['inmem', 'inmem_transactional', 'inmem_ha'])
/** Supported labels of `storage`. */
export const STORAGE_LABELS: ReadonlySet<string> = new Set(['raft', 'file', 'leveldb', 'etcd', ...MEMORY_LABELS])

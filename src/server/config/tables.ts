import type { ConfigValue, KeyKind, KindValue, SettingKind } from './values.js'

/**
 * The keys of a configuration file as data: their types, and whether they have an effect. The names are Vault's, so that
 * existing files work. Keys accepted without effect are marked; rejected ones have an explanation.
 */
interface Key {
  readonly kind: KeyKind
  readonly fallback?: ConfigValue
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

/**
 * Below 1.21 and with `+ent`: for later versions, clients also send, read and test fields that this server lacks
 * (docs/reference/compatibility.md).
 */
export const DEFAULT_REPORTED_VERSION = '1.20.4+ent'

const own = <K extends SettingKind>(kind: K, fallback: KindValue[K]) => ({ kind, fallback })

/** Keys of the stanza `understudy`, and UNDERSTUDY_<KEY> in the environment, with their defaults. */
export const OWN_KEYS = {
  reported_version: own('string', DEFAULT_REPORTED_VERSION),
  license: own('string', 'enterprise'),
  wal_retention_entries: own('int', 262_144),
  wal_retention_bytes: own('int', 1024 ** 3),
  ship_window_bytes: own('int', 16 * 1024 * 1024),
  ship_batch_bytes: own('int', 256 * 1024),
  heartbeat_interval: own('duration', 1000),
  keepalive_time: own('duration', 5000),
  keepalive_timeout: own('duration', 5000),
  reconnect_backoff_initial: own('duration', 50),
  reconnect_backoff_max: own('duration', 500),
  bootstrap_timeout: own('duration', 10_000),
  forwarding_timeout: own('duration', 10_000),
  ping_timeout: own('duration', 3000),
  role_change_wait: own('duration', 2000),
  step_down_rest: own('duration', 10_000),
  /** How long a node stays leader without renewing its lease. */
  leader_lease: own('duration', 10_000),
  /** Directory of the local copy of a shared storage; empty: a temporary one. */
  data_dir: own('string', ''),
  /** Path of the etcd binary in which nodes with storage "raft" share their log; empty: looked up in PATH. */
  etcd_path: own('string', ''),
  /** `host:port` at which other nodes reach it; empty: one port above the cluster address. */
  etcd_peer_address: own('string', ''),
  demote_drain_timeout: own('duration', 10_000),
  fence_client_writes: own('bool', false),
  allow_older_secondary: own('bool', false),
  sync_writes: own('bool', true),
  // Resolved for each auth method, with Vault's settings.
  user_lockout: { kind: 'bool' },
  approle_tidy_interval: own('duration', 60_000),
  /** The file to which the server writes its listen addresses; empty: none. */
  address_file: own('string', ''),
  /** By default only in dev mode. */
  lab_api: own('bool', false),
  lab_api_token: own('string', ''),
  dial_routes: own('list', []),
  simulate_seals: own('bool', false),
  allow_generate_root_unauthenticated: own('bool', true),
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

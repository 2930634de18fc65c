import type { ConfigValue, KeyKind, KindValue, SettingKind } from './values.js'

/**
 * A key of a configuration file. The tables of this file list all keys with their types, and whether they have an
 * effect. The names are those of Vault, so that existing files work.
 */
interface Key {
  readonly kind: KeyKind
  readonly fallback?: ConfigValue
  readonly refusal?: string
  /** Warning about an accepted key that has no effect, if an operator may rely on the effect. */
  readonly warning?: string
}

export type KeyTable = Readonly<Record<string, Key>>

/** Returns table rows for keys of one type that have an effect. `names` is separated by spaces. */
const real = (kind: KeyKind, names: string): KeyTable =>
  Object.fromEntries(names.split(' ').map((name) => [name, { kind }]))
/** Returns table rows for keys that are accepted without effect, because Understudy lacks the feature. */
const accepted = real

export const LISTENER_KEYS: KeyTable = {
  ...real('string', 'address cluster_address tls_cert_file tls_key_file tls_client_ca_file tls_min_version'),
  ...real('string', 'tls_max_version proxy_protocol_behavior chroot_namespace'),
  ...real('bool', 'tls_disable tls_require_and_verify_client_cert tls_disable_client_certs redact_addresses'),
  ...real('bool', 'redact_cluster_name redact_version disable_replication_status_endpoints'),
  ...real('bool', 'x_forwarded_for_reject_not_authorized x_forwarded_for_reject_not_present'),
  ...real('list', 'tls_cipher_suites x_forwarded_for_authorized_addrs proxy_protocol_authorized_addrs'),
  ...real('int', 'max_request_size x_forwarded_for_hop_skips'),
  ...real('duration', 'max_request_duration http_read_header_timeout http_read_timeout http_idle_timeout'),
  ...accepted('bool', 'tls_prefer_server_cipher_suites'),
  ...accepted('duration', 'http_write_timeout'),
  ...accepted('any', 'telemetry profiling inflight_requests_logging'),
  custom_response_headers: { kind: 'any', warning: 'not supported: the server does not send these headers' },
}

export const STORAGE_KEYS: KeyTable = {
  ...real('string', 'path node_id'),
  ...real('any', 'retry_join'),
  ...accepted('any', 'performance_multiplier trailing_logs snapshot_threshold autopilot_reconcile_interval'),
  ...accepted('any', 'autopilot_update_interval retry_join_as_non_voter max_entry_size snapshot_interval raft_wal'),
  ...accepted('any', 'max_mount_and_namespace_table_entry_size'),
  ...accepted('any', 'raft_log_verifier_enabled raft_log_verification_interval'),
  ...accepted('string', 'autopilot_redundancy_zone autopilot_upgrade_version'),
}

export const RETRY_JOIN_KEYS: KeyTable = {
  ...real('string', 'leader_api_addr leader_ca_cert_file leader_client_cert_file leader_client_key_file'),
  ...real('string', 'leader_ca_cert leader_client_cert leader_client_key leader_tls_servername'),
  ...accepted('any', 'auto_join_scheme auto_join_port'),
  auto_join: { kind: 'any', refusal: 'node discovery is not supported: set leader_api_addr for each node' },
}

export const ETCD_STORAGE_KEYS: KeyTable = {
  ...real('string', 'address path etcd_api username password tls_ca_file tls_cert_file tls_key_file'),
  ...real('bool', 'ha_enabled'),
  ...real('duration', 'request_timeout'),
  ...accepted('duration', 'lock_timeout'),
  ...accepted('any', 'sync'),
  discovery_srv: { kind: 'string', refusal: 'discovery_srv is not supported; list the members as address' },
}

export const STATIC_SEAL_KEYS: KeyTable = {
  ...real('string', 'current_key_id current_key previous_key_id previous_key'),
  ...real('bool', 'disabled'),
}

export const TRANSIT_SEAL_KEYS: KeyTable = {
  ...real('string', 'address token key_name mount_path namespace tls_ca_cert tls_client_cert tls_client_key'),
  ...real('string', 'tls_server_name'),
  ...real('bool', 'disable_renewal tls_skip_verify disabled'),
}

export const REPLICATION_KEYS: KeyTable = {
  ...accepted('bool', 'resolver_discover_servers'),
  ...accepted('int', 'logshipper_buffer_length'),
  ...accepted('any', 'logshipper_buffer_size'),
  ...real('bool', 'allow_forwarding_via_header'),
  ...accepted('string', 'allow_forwarding_via_token'),
  ...real('duration', 'best_effort_wal_wait_duration'),
}

export const LOCKOUT_KEYS: KeyTable = {
  ...real('int', 'lockout_threshold'),
  ...real('duration', 'lockout_duration lockout_counter_reset'),
  ...real('bool', 'disable_lockout'),
}

/**
 * The reported version. It ends in `+ent` and is below 1.21, because clients of later versions use fields that this
 * server lacks (docs/reference/compatibility.md).
 */
export const DEFAULT_REPORTED_VERSION = '1.20.4+ent'

const own = <K extends SettingKind>(kind: K, fallback: KindValue[K]) => ({ kind, fallback })

/**
 * The keys of the stanza `understudy` with their types and defaults. `UNDERSTUDY_<KEY>` in the environment overrides a
 * key.
 */
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
  /** Time for which a node stays leader without a renewal of its lease. */
  leader_lease: own('duration', 10_000),
  /** Directory of the local copy of a shared storage; empty for a temporary directory. */
  data_dir: own('string', ''),
  /** Path of the etcd binary that nodes with storage `raft` run for their shared log; empty to search it in PATH. */
  etcd_path: own('string', ''),
  /**
   * Address (`host:port`) at which other nodes reach the etcd of this node; empty for one port above the cluster
   * address.
   */
  etcd_peer_address: own('string', ''),
  demote_drain_timeout: own('duration', 10_000),
  fence_client_writes: own('bool', false),
  allow_older_secondary: own('bool', false),
  sync_writes: own('bool', true),
  // Combined with Vault's settings for each auth method.
  user_lockout: { kind: 'bool' },
  approle_tidy_interval: own('duration', 60_000),
  /** File to which the server writes its listen addresses; empty for none. */
  address_file: own('string', ''),
  /** Whether the lab API is served (default: only in dev mode). */
  lab_api: own('bool', false),
  lab_api_token: own('string', ''),
  dial_routes: own('list', []),
  simulate_seals: own('bool', false),
  allow_generate_root_unauthenticated: own('bool', true),
} as const satisfies KeyTable

export type OwnKey = keyof typeof OWN_KEYS

export const ROOT_KEYS: KeyTable = {
  ...real('string', 'api_addr cluster_addr cluster_name log_level log_format log_file pid_file'),
  ...real('duration', 'default_lease_ttl max_lease_ttl'),
  ...real('bool', 'disable_clustering disable_performance_standby ui enable_response_header_hostname'),
  ...real('bool', 'enable_response_header_raft_node_id'),
  ...accepted('bool', 'disable_mlock disable_cache disable_sealwrap disable_indexing raw_storage_endpoint'),
  ...accepted('bool', 'introspection_endpoint disable_printable_check allow_audit_log_prefixing'),
  ...accepted('bool', 'unsafe_cross_namespace_identity enable_post_unseal_trace imprecise_lease_role_tracking'),
  ...accepted('any', 'cache_size plugin_file_uid plugin_file_permissions log_rotate_bytes log_rotate_max_files'),
  ...accepted('string', 'plugin_directory plugin_tmpdir license_path administrative_namespace_path'),
  ...accepted('string', 'post_unseal_trace_directory detect_deadlocks log_requests_level log_rotate_duration'),
  ...accepted('list', 'enable_unauthenticated_access'),
  ...accepted('duration', 'remove_irrevocable_lease_after'),
  // This key has an effect only in the telemetry block of a listener.
  ...accepted('bool', 'telemetry.unauthenticated_metrics_access'),
}

/** Top-level blocks that are accepted without effect and without checks. */
export const ACCEPTED_BLOCKS: ReadonlySet<string> = new Set([
  ...['telemetry', 'reporting', 'service_registration', 'sentinel', 'experiments', 'entropy', 'cloud', 'hcp_link'],
  ...['kms_library', 'license_entitlement', 'request_limiter', 'adaptive_overload_protection'],
])

/** Storage types whose data is lost when the process ends. */
export const MEMORY_LABELS: ReadonlySet<string> = new Set(['inmem', 'inmem_transactional', 'inmem_ha'])
export const STORAGE_LABELS: ReadonlySet<string> = new Set(['raft', 'file', 'leveldb', 'etcd', ...MEMORY_LABELS])

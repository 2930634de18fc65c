import { mapWith, type Schema } from '../documents/schema.js'
import { NODE_STORAGES } from '../model/topology.js'

const NAME: Schema = {
  type: 'string',
  pattern: '^[a-z0-9][a-z0-9-]*$',
  title: 'lowercase letters, digits and hyphens',
}
const CLUSTER: Schema = { type: 'string', pattern: '^[A-Z]$', title: 'the letter of a cluster, A to Z' }
const DURATION: Schema = {
  type: 'string',
  pattern: '^(\\d+(\\.\\d+)?(ms|s|m|h))+$',
  title: 'a duration such as 80ms',
}
const PORT: Schema = { type: 'integer', minimum: 1, maximum: 65_535 }
const MOUNT_PATH: Schema = { type: 'string', pattern: '^[^/\\s].*$', title: 'a path without a leading slash' }
const SCALARS = ['string', 'integer', 'number', 'boolean'] as const

/** Returns the schema of a map from names to maps with these properties. `title` describes an inner map. */
const mapOf = (
  { description, title }: Pick<Schema, 'description' | 'title'>,
  propertyNames: NonNullable<Schema['propertyNames']>,
  properties: NonNullable<Schema['properties']>,
): Schema => ({
  type: 'object',
  ...(description === undefined ? {} : { description }),
  propertyNames,
  additionalProperties: {
    type: ['object', 'null'],
    ...(title === undefined ? {} : { title }),
    additionalProperties: false,
    properties,
  },
})

const SEED: Schema = {
  type: 'object',
  description:
    'Data that is written after the cluster is unsealed, before secondaries join. The secondaries receive this data with their first copy.',
  additionalProperties: false,
  properties: {
    mounts: mapOf(
      { description: 'Secrets engines by path.', title: 'a map with type, version, local or description' },
      { pattern: '^[^/\\s]\\S*$', title: 'a path without a leading slash' },
      {
        type: { type: 'string', default: 'kv' },
        version: { type: 'integer', minimum: 1, maximum: 2, default: 2, description: 'Version of a kv engine.' },
        local: { type: 'boolean', default: false, description: 'Whether performance replication excludes the engine.' },
        description: { type: 'string' },
      },
    ),
    policies: {
      type: 'object',
      description: 'ACL policies by name, in the syntax of "vault policy write".',
      additionalProperties: { type: 'string' },
    },
    approle: {
      type: 'object',
      description: 'AppRole roles by name, with the fields of auth/approle/role/NAME. "role_id" sets the RoleID.',
      additionalProperties: { type: ['object', 'null'], title: 'a map of fields' },
    },
    secrets: {
      type: 'object',
      description: 'Secrets by path, as in "vault kv put": with the mount, without "data/".',
      propertyNames: { pattern: '^[^/\\s].*/.*[^/]$', title: 'a mount and a path, such as kv/app' },
      additionalProperties: { type: 'object', title: 'a map of fields' },
    },
  },
}

/** Matches one line: without line breaks except at the end, and without control characters of terminals. */
const ONE_LINE = '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*\\n?$'

const PLAN: Readonly<Record<string, Schema>> = {
  nodes: {
    type: 'integer',
    minimum: 1,
    maximum: 5,
    default: 1,
    description: 'Number of servers in the cluster: 1, 3 or 5. One server is active.',
  },
  storage: {
    type: 'string',
    enum: [...NODE_STORAGES],
    default: 'etcd',
    description:
      'Storage of several nodes. etcd: they share one etcd of the lab. raft: each stores a copy. In one process, they share memory.',
  },
  seal: {
    type: 'string',
    pattern: '^(auto|shamir)( \\d{1,3}/\\d{1,3})?$',
    title:
      'a string: "auto" or "shamir", followed by shares and threshold, such as "shamir 5/3" (5 shares, threshold 3)',
    default: 'shamir 1/1',
    description: 'Seal: key shares, or auto-unseal with recovery keys.',
  },
  license: { type: 'string', enum: ['enterprise', 'plus', 'none'], default: 'enterprise' },
  version: {
    type: 'string',
    pattern: '^\\d+\\.\\d+\\.\\d+([-+].*)?$',
    title: 'a version in quotes, such as "1.20.4+ent"',
    description: 'Version that the server reports.',
  },
  tls: { type: 'boolean', default: false, description: 'Serves the API over TLS, with a certificate of the lab CA.' },
  settings: {
    type: 'object',
    description: 'Settings of the stanza "understudy".',
    additionalProperties: { type: SCALARS },
  },
}

const CLUSTER_PLAN: Readonly<Record<string, Schema>> = {
  ...PLAN,
  ports: {
    type: 'object',
    description: 'Ports on 127.0.0.1, unless "up" overrides them. The cluster port is the API port plus 1 by default.',
    required: ['api'],
    additionalProperties: false,
    properties: { api: PORT, cluster: PORT },
  },
  reach: {
    type: 'string',
    enum: ['direct', 'load-balancer', 'cluster-port'],
    default: 'direct',
    description:
      'How other clusters reach the cluster. direct: at its own addresses. load-balancer: only through a load balancer. cluster-port: only at its cluster port, not at its API.',
  },
  seed: SEED,
}

const LINK: Readonly<Record<string, Schema>> = {
  kind: { type: 'string', enum: ['dr', 'performance'] },
  primary: CLUSTER,
  secondary: CLUSTER,
  activation: {
    type: 'string',
    enum: ['token', 'public-key'],
    default: 'token',
    description:
      'Activation by a wrapping token that the secondary unwraps at the API of its primary, or by a token encrypted for its public key.',
  },
  filter: {
    type: 'object',
    description:
      'Path filter of a performance link. allow: replicates only these mounts and namespaces. deny: replicates all others.',
    required: ['mode', 'paths'],
    additionalProperties: false,
    properties: {
      mode: { type: 'string', enum: ['allow', 'deny'] },
      paths: { type: 'array', minItems: 1, items: MOUNT_PATH },
    },
  },
}
const LINK_ENDS = ['kind', 'primary', 'secondary']

/** Settings of the stanza `understudy`, as the library receives them. `requireSettings` validates their names. */
export const SETTINGS_OBJECT: Schema = { type: 'object', additionalProperties: { type: [...SCALARS, 'array'] } }

const TEXT: Schema = { type: 'string' }
const MS: Schema = { type: 'number', minimum: 0, maximum: Number.MAX_VALUE, title: 'a number of milliseconds' }
const SHARES: Schema = { type: 'integer', minimum: 1, maximum: 255 }
const SEAL: Readonly<Record<string, Schema>> = {
  type: { type: 'string', enum: ['shamir', 'auto'] },
  shares: SHARES,
  threshold: SHARES,
}
const PLAN_OBJECT: Schema = mapWith({
  ...CLUSTER_PLAN,
  seal: mapWith(SEAL, Object.keys(SEAL)),
  settings: SETTINGS_OBJECT,
})

/**
 * Returns the schema of a topology that the library receives. `clusters`: its cluster names, which can be any strings.
 */
export const topologyObjectSchema = (clusters: readonly string[]): Schema => {
  const ends = { primary: TEXT, secondary: TEXT, latencyMs: MS, jitterMs: MS }
  return mapWith(
    {
      name: TEXT,
      about: TEXT,
      clusters: { type: 'array', minItems: 1, items: { type: 'string', pattern: '[^]', title: 'a name' } },
      links: { type: 'array', items: mapWith({ ...LINK, ...ends }, LINK_ENDS) },
      plans: mapWith(Object.fromEntries(clusters.map((name) => [name, PLAN_OBJECT]))),
    },
    ['name', 'clusters', 'links'],
  )
}

/** The schema of topology files (`kind: Topology`). `rules.ts` validates what a schema cannot express. */
export const TOPOLOGY_SCHEMA: Schema & { readonly $schema: string } = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'a topology',
  description: 'Clusters of a lab and their replication links.',
  type: 'object',
  required: ['apiVersion', 'kind', 'name', 'clusters'],
  additionalProperties: false,
  properties: {
    apiVersion: { const: 'understudy/v1' },
    kind: { const: 'Topology' },
    name: NAME,
    about: { type: 'string', pattern: ONE_LINE, title: 'one line', description: 'Description in one line.' },
    defaults: {
      type: 'object',
      description: 'Defaults of all clusters.',
      additionalProperties: false,
      properties: PLAN,
    },
    clusters: mapOf(
      { description: 'Clusters by letter. The letter stays when the role changes.', title: 'a map, or empty' },
      { pattern: '^[A-Z]$', title: 'one letter, A to Z' },
      CLUSTER_PLAN,
    ),
    links: {
      type: 'array',
      description: 'Replication links.',
      items: {
        type: 'object',
        required: LINK_ENDS,
        additionalProperties: false,
        properties: {
          ...LINK,
          latency: { ...DURATION, description: 'Permanent latency in each direction.' },
          jitter: { ...DURATION, description: 'Maximum deviation of the latency.' },
        },
      },
    },
  },
}

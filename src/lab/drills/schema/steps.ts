import type { Schema } from '../../documents/schema.js'
import { LINK_FAULTS } from '../../proxy/link-faults.js'
import { ANSWER, CALL, CLUSTER, DURATION, KIND, SERVER, SERVERS, variable, WANTED } from './forms.js'
import { EXPECTATIONS } from './expectations.js'

const process = (description: string): Schema => ({ ...SERVERS, description })

const stateFault = (description: string): Schema => ({
  type: 'object',
  description,
  additionalProperties: false,
  required: ['cluster', 'state', 'kind'],
  properties: {
    cluster: CLUSTER,
    state: { type: 'string', enum: ['bootstrapping', 'merkle-diff', 'merkle-sync', 'reindex', 'apply'] },
    kind: KIND,
  },
})

const FAULT_FIELDS = Object.entries(LINK_FAULTS).flatMap(([fault, { fields }]) =>
  fields.map((field) => ({ fault, ...field })),
)

/** The numeric parameters of all faults. The fault gives each key its meaning. */
const FAULT_NUMBERS: Readonly<Record<string, Schema>> = Object.fromEntries(
  FAULT_FIELDS.map(({ key, unit }) => {
    const meanings = FAULT_FIELDS.filter((field) => field.key === key).map(({ fault, about }) => `${fault}: ${about}`)
    const type: Schema = unit === 'ms' ? DURATION : { type: 'integer', minimum: 1 }
    return [key, { ...type, description: `Of ${meanings.join('. Of ')}.` }]
  }),
)

/** Verbs of steps with their parameters. A step has exactly one verb. */
export const VERBS = {
  start: process('Starts servers on the data that is there, and unseals them with the keys that the lab holds.'),
  stop: process('Ends servers as SIGTERM does.'),
  restart: process('Ends servers and starts them again.'),
  crash: process('Kills servers as SIGKILL does: nothing is put in order.'),
  pause: process('Freezes servers as SIGSTOP does. Not within one process.'),
  resume: process('Lets frozen servers go on.'),
  wipe: process(
    'Removes the data of servers that are stopped. With storage "raft" a node joins the others again when it starts.',
  ),
  seal: process('Seals clusters.'),
  unseal: process('Unseals clusters with the keys that the lab holds.'),

  fault: {
    type: 'object',
    description: 'Sets a fault on the link of two clusters, until it is healed or its time is over.',
    additionalProperties: false,
    required: ['name', 'between'],
    properties: {
      name: {
        type: 'string',
        description:
          'partition: nothing passes. hold: bytes wait. down: connections are refused. Others as in toxiproxy.',
        enum: Object.keys(LINK_FAULTS),
      },
      between: { type: 'array', minItems: 2, items: SERVER, title: 'a list of two clusters or nodes' },
      'one-way': { type: 'boolean', default: false, description: 'Only what the first cluster sends is met.' },
      for: { ...DURATION, description: 'It heals by itself after so long.' },
      ...FAULT_NUMBERS,
    },
  },
  heal: {
    type: ['string', 'object'],
    pattern: '^all$',
    title: '"all", or { between: [A, B] }',
    description: 'Ends the faults of one link, or all.',
    additionalProperties: false,
    required: ['between'],
    properties: { between: { type: 'array', minItems: 2, items: SERVER, title: 'a list of two clusters or nodes' } },
  },
  hold: stateFault('Keeps the replication of a secondary in a state as soon as it comes to it.'),
  release: {
    type: 'object',
    description: 'Lets a held state go on; all of a cluster when none is named.',
    additionalProperties: false,
    required: ['cluster'],
    properties: { cluster: CLUSTER, state: { type: 'string' }, kind: KIND },
  },
  corrupt: {
    type: 'object',
    description: 'Damages a page of a merkle tree, not the data below it.',
    additionalProperties: false,
    required: ['cluster'],
    properties: {
      cluster: CLUSTER,
      tree: { type: 'string', enum: ['replicated', 'local'], default: 'replicated' },
      page: { type: 'integer', minimum: 0, maximum: 255, default: 0 },
    },
  },
  skew: {
    type: 'object',
    description: "Shifts the clock of a cluster's server.",
    additionalProperties: false,
    required: ['cluster', 'by'],
    properties: { cluster: CLUSTER, by: { type: 'string', description: 'Such as 5m or -30s.' } },
  },
  disk: {
    type: 'object',
    description: 'The disk of a cluster is full, fails or is slow, until it is ok again.',
    additionalProperties: false,
    required: ['cluster', 'state'],
    properties: {
      cluster: CLUSTER,
      state: { type: 'string', enum: ['full', 'fail', 'slow', 'ok'] },
      delay: { ...DURATION, description: 'Of slow: how much longer a write takes.' },
    },
  },
  'expire-token': {
    type: 'object',
    description: 'Lets the activation token that a primary issued for an id expire at once.',
    additionalProperties: false,
    required: ['cluster', 'id', 'kind'],
    properties: { cluster: CLUSTER, id: { type: 'string' }, kind: KIND },
  },

  call: CALL,
  promote: {
    type: 'object',
    description: 'Makes a secondary the primary, and waits until it says so.',
    additionalProperties: false,
    required: ['cluster', 'kind'],
    properties: {
      cluster: CLUSTER,
      kind: KIND,
      token: {
        type: 'string',
        default: 'operation',
        description: `Of DR: "operation" makes a one-time token from the key shares; else the token itself, such as "${variable('batch')}". Of performance a root token is used.`,
      },
      force: { type: 'boolean', default: false, description: 'Also when it may lack what its primary had.' },
    },
  },
  demote: {
    type: 'object',
    description: 'Makes a primary a secondary without a primary, and waits until it reports that role.',
    additionalProperties: false,
    required: ['cluster', 'kind'],
    properties: { cluster: CLUSTER, kind: KIND },
  },
  disable: {
    type: 'object',
    description: 'Ends a kind of replication on a cluster, as primary or as secondary, whatever it is.',
    additionalProperties: false,
    required: ['cluster', 'kind'],
    properties: { cluster: CLUSTER, kind: KIND },
  },
  join: {
    type: 'object',
    description:
      'Makes one cluster a secondary of another, which is enabled as primary where it is not; the secondary is wiped. Waits until it is replicated.',
    additionalProperties: false,
    required: ['primary', 'secondary', 'kind'],
    properties: {
      primary: CLUSTER,
      secondary: CLUSTER,
      kind: KIND,
      filter: {
        type: 'object',
        description: 'Set before it joins.',
        additionalProperties: false,
        required: ['mode', 'paths'],
        properties: {
          mode: { type: 'string', enum: ['allow', 'deny'] },
          paths: { type: 'array', minItems: 1, items: { type: 'string' } },
        },
      },
    },
  },
  'update-primary': {
    type: 'object',
    description:
      'Points a secondary at a primary, without a wipe: with an activation token of that primary, or with addresses alone. With a primary it waits until it is replicated.',
    additionalProperties: false,
    required: ['cluster', 'kind'],
    properties: {
      cluster: CLUSTER,
      kind: KIND,
      primary: { ...CLUSTER, description: 'Who issues an activation token for it.' },
      token: { type: 'string', description: `An activation token itself, such as "${variable('activation')}".` },
      addresses: {
        type: 'array',
        minItems: 1,
        items: { type: 'string' },
        description: `Such as "${variable('B.cluster_address')}".`,
      },
      'operation-token': { type: 'string', default: 'operation', description: 'Of DR, as for promote.' },
    },
  },
  revoke: {
    type: 'object',
    description: 'The primary forgets a secondary and cuts it off.',
    additionalProperties: false,
    required: ['primary', 'secondary', 'kind'],
    properties: {
      primary: CLUSTER,
      secondary: CLUSTER,
      kind: KIND,
      id: { type: 'string', description: 'By which the primary knows it, where it is not dr-b or perf-c.' },
    },
  },
  filter: {
    type: 'object',
    description: 'Sets or removes the paths filter of a performance secondary.',
    additionalProperties: false,
    required: ['primary', 'secondary'],
    properties: {
      primary: CLUSTER,
      secondary: CLUSTER,
      id: { type: 'string', description: 'By which the primary knows it, where it is not perf-c.' },
      mode: { type: 'string', enum: ['allow', 'deny'] },
      paths: { type: 'array', minItems: 1, items: { type: 'string' } },
      remove: { type: 'boolean', default: false },
    },
  },
  write: {
    type: 'object',
    description: 'Writes fields to a path with a root token, once or many times.',
    additionalProperties: false,
    required: ['cluster', 'path', 'fields'],
    properties: {
      cluster: CLUSTER,
      path: {
        type: 'string',
        description: 'As the API has it. Written many times, "-1", "-2" and so on are appended.',
      },
      fields: { type: 'object' },
      times: { type: 'integer', minimum: 1, default: 1 },
    },
  },
  read: {
    type: 'object',
    description: 'Reads a path with a root token, unless another is named.',
    additionalProperties: false,
    required: ['cluster', 'path'],
    properties: {
      cluster: CLUSTER,
      path: { type: 'string' },
      token: { type: 'string', default: 'root', description: 'As for call.' },
      is: { ...WANTED, description: 'What "data" must be; forms as elsewhere.' },
      absent: { type: 'boolean', default: false, description: 'It must be answered with 404.' },
      expect: ANSWER,
      within: { ...DURATION, description: 'Read again until it is so, so long at most.' },
    },
  },
  wait: {
    type: ['string', 'object'],
    pattern: DURATION.pattern ?? '',
    title: 'a duration such as 2s in which clients go on, or { for, cluster, ... }',
    description: 'Waits for a fact about a cluster; a duration alone lets the clients go on for so long.',
    additionalProperties: false,
    required: ['for'],
    properties: {
      for: {
        type: 'string',
        enum: [
          'answering',
          'unsealed',
          'active',
          'accepting-writes',
          'replicated',
          'converged',
          'health',
          'status',
          'lag',
        ],
        description:
          'accepting-writes: a write of the lab is accepted there. replicated: it streams, or all that follow it do. converged: every cluster is replicated and has the root of its primary. health: its sys/health answers "health". status: its replication status of "kind" matches "is". lag: it lacks as many entries of "primary" as "entries" says.',
      },
      cluster: { ...CLUSTER, description: 'Whom it is about; of all but converged.' },
      within: { ...DURATION, default: '30s' },
      health: { type: 'integer', minimum: 200, maximum: 599 },
      kind: KIND,
      is: WANTED,
      primary: CLUSTER,
      entries: {
        type: 'object',
        additionalProperties: false,
        properties: { 'at-least': { type: 'integer' }, 'at-most': { type: 'integer' } },
      },
    },
  },
  checkpoint: {
    type: 'array',
    minItems: 1,
    description: 'Expectations that must hold at this moment; not those of the load.',
    items: { type: 'object', additionalProperties: false, properties: EXPECTATIONS },
  },
  run: {
    type: 'object',
    description:
      'A shell command with VAULT_ADDR and VAULT_TOKEN of a cluster; "vault" is this program where no other is found.',
    additionalProperties: false,
    required: ['cluster', 'command'],
    properties: {
      cluster: CLUSTER,
      command: { type: 'string' },
      status: { type: 'integer', minimum: 0, maximum: 255, default: 0, description: 'What it ends with.' },
      prints: { type: 'string', description: 'A text that its output contains.' },
      within: { ...DURATION, default: '60s' },
    },
  },
} as const satisfies Readonly<Record<string, Schema>>

export type Verb = keyof typeof VERBS

export const STEP: Schema = {
  type: 'object',
  title: 'a map with exactly one verb',
  additionalProperties: false,
  properties: {
    name: { type: 'string', description: 'What it is in the story, in words.' },
    error: {
      type: ['string', 'object'],
      title: 'a text of the error, or { status, contains }',
      description: 'The step is to be refused so. It fails when it is not.',
      additionalProperties: false,
      properties: { status: { type: 'integer', minimum: 400, maximum: 599 }, contains: { type: 'string' } },
    },
    ...VERBS,
  },
}

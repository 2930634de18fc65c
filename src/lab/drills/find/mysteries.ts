import type { LiveLab } from '../../live/live-lab.js'
import { statusOf } from '../../requests/replication.js'
import { LINK_MYSTERIES } from './link-mysteries.js'
import type { Mystery, Place } from './mystery.js'
import { SERVER_MYSTERIES } from './server-mysteries.js'
import { PRACTICE } from './traffic.js'

const REPLICATION = 'sys/replication'
const isPerformance = ({ kind }: { kind: string }): boolean => kind === 'performance'

const isFollowing = async (lab: LiveLab, { secondary, kind }: Place): Promise<boolean> => {
  const { mode, state, connection_state: connection } = await statusOf(lab.anonymous(secondary), kind)
  return mode === 'primary' || (mode === 'secondary' && state === 'stream-wals' && connection === 'ready')
}

const revoked: Mystery = {
  name: 'revoked-secondary',
  fits: () => true,
  async plant(lab, { primary, kind, id }) {
    const client = await lab.root(primary)
    await client.write(`${REPLICATION}/${kind}/primary/revoke-secondary`, { id })
  },
  isThere: async (lab, place) => !(await isFollowing(lab, place)),
  tell: ({ primary, secondary, kind, id }) => ({
    what: `${primary} had revoked its ${kind} secondary ${id}, which is ${secondary}`,
    seen: `known_secondaries of ${primary} lacks ${id}; ${secondary} is idle and its connection fails`,
    mend: [
      `vault write ${REPLICATION}/${kind}/primary/secondary-token id=${id}    # on ${primary}`,
      `vault write ${REPLICATION}/${kind}/secondary/update-primary token=...    # on ${secondary}${kind === 'dr' ? ', with a dr_operation_token' : ''}`,
    ],
  }),
}

const filtered: Mystery = {
  name: 'filtered-mount',
  fits: isPerformance,
  async plant(lab, { primary, id }) {
    const client = await lab.root(primary)
    await client.write(filterOf(id), { mode: 'deny', paths: [`${PRACTICE}/`] })
  },
  async isThere(lab, { primary, id }) {
    const client = await lab.root(primary)
    const { status, json } = await client.send('GET', filterOf(id))
    return status === 200 && JSON.stringify(json?.data).includes(`${PRACTICE}/`)
  },
  tell: ({ primary, secondary, id }) => ({
    what: `a paths filter on ${primary} kept ${PRACTICE}/ from ${secondary}`,
    seen: `${secondary} answers 404 "no handler for route" below ${PRACTICE}/, and does not list the mount`,
    mend: [`vault delete ${filterOf(id)}    # on ${primary}`],
  }),
}

const newToken = (primary: string, secondary: string, id: string): string[] => [
  `vault write ${REPLICATION}/performance/primary/secondary-token id=${id}    # on ${primary}`,
  `vault write ${REPLICATION}/performance/secondary/update-primary token=...    # on ${secondary}`,
]

const filterOf = (id: string): string => `${REPLICATION}/performance/primary/paths-filter/${id}`

const forgotten: Mystery = {
  name: 'forgotten-primary',
  fits: isPerformance,
  async plant(lab, { secondary }) {
    const client = await lab.root(secondary)
    await client.write(`${REPLICATION}/performance/secondary/update-primary`, { token: '' })
  },
  isThere: async (lab, place) => !(await isFollowing(lab, place)),
  tell: ({ primary, secondary, id }) => ({
    what: `${secondary} had been told to forget its primary: an update-primary with an empty token`,
    seen: `${secondary} is a performance secondary in state idle, and knows no address of ${primary}`,
    mend: [
      `vault write ${REPLICATION}/performance/primary/revoke-secondary id=${id}    # on ${primary}`,
      ...newToken(primary, secondary, id),
    ],
  }),
}

const demoted: Mystery = {
  name: 'demoted-primary',
  fits: isPerformance,
  async plant(lab, { primary }) {
    const client = await lab.root(primary)
    await client.write(`${REPLICATION}/performance/primary/demote`)
  },
  async isThere(lab) {
    const all = await Promise.all(
      lab.clusters.map(({ name }) => statusOf(lab.anonymous(name), 'performance').catch(() => ({ mode: '' }))),
    )
    return !all.some(({ mode }) => mode === 'primary')
  },
  tell: ({ primary, secondary, id }) => ({
    what: `${primary} had been demoted, and no cluster was the performance primary`,
    seen: `writes are refused on every cluster; ${primary} and ${secondary} both say that they are secondaries`,
    mend: [
      `vault write -f ${REPLICATION}/performance/secondary/promote    # on ${primary}`,
      ...newToken(primary, secondary, id),
    ],
  }),
}

/** All faults that can be injected. A seed chooses by position among those that fit, so add new ones at the end. */
export const MYSTERIES: readonly Mystery[] = [
  ...LINK_MYSTERIES,
  ...SERVER_MYSTERIES,
  revoked,
  filtered,
  forgotten,
  demoted,
]

import type { PageLink } from '../../lab/web/page-facts.js'

/** Names a follower: a cluster follows one other of each kind. */
export const followerKey = ({ kind, secondary }: Pick<PageLink, 'kind' | 'secondary'>): string => `${kind} ${secondary}`

import type { PageLink } from '../../lab/web/page-facts.js'

/** Returns the key of a secondary: a cluster follows at most one primary of each kind. */
export const followerKey = ({ kind, secondary }: Pick<PageLink, 'kind' | 'secondary'>): string => `${kind} ${secondary}`

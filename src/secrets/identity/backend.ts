import type { Backend } from '../../logical/backend.js'

/**
 * The mount that stands for the identity store. Entities are made by logins; managing them through the API is left out, so
 * every path is unknown.
 */
export const createIdentityBackend = (): Backend => ({ type: 'identity', paths: [], unauthenticated: [], sudo: [] })

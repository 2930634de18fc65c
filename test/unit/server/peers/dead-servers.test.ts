import { expect, it } from 'vitest'
import type { AutopilotSettings } from '../../../../src/core/system/autopilot-settings.js'
import { findDeadServer, type WatchedServer } from '../../../../src/server/peers/contacts.js'

const SETTINGS: AutopilotSettings = {
  cleanup_dead_servers: true,
  dead_server_last_contact_threshold: 60,
  last_contact_threshold: 10,
  max_trailing_logs: 1000,
  min_quorum: 3,
  server_stabilization_time: 10,
  disable_upgrade_migration: false,
}

const server = (nodeId: string, more: Partial<WatchedServer> = {}): WatchedServer => ({
  ...{ nodeId, clusterAddress: '', isVoter: true, isHealthy: true, lastContactMs: 0, stableSinceMs: 0 },
  ...{ lastIndex: 1, term: 1, version: '', stableMs: 60_000 },
  ...more,
})

const silent = (nodeId: string, lastContactMs = 60_000, more: Partial<WatchedServer> = {}) =>
  server(nodeId, { isHealthy: false, lastContactMs, stableMs: 0, ...more })

const [a, b, c] = [server('A'), server('B'), server('C')]
const find = (servers: readonly WatchedServer[], settings: Partial<AutopilotSettings> = {}) =>
  findDeadServer(servers, 'A', { ...SETTINGS, ...settings })

it('dead server cleanup removes a server that was silent for too long', () => {
  expect(find([a, b, c, silent('D')])).toBe('D')
  expect(find([a, b, c, silent('D', 59_999)])).toBeUndefined()
  expect(find([a, b, c, silent('D')], { dead_server_last_contact_threshold: 61 })).toBeUndefined()
})

it('dead server cleanup is off by default', () => {
  expect(find([a, b, c, silent('D')], { cleanup_dead_servers: false })).toBeUndefined()
})

it('dead server cleanup keeps the minimum quorum of stable servers', () => {
  expect(find([a, b, silent('D')])).toBeUndefined()
  expect(find([a, b, c, silent('D')], { min_quorum: 4 })).toBeUndefined()
  expect(find([a, b, server('C', { stableMs: 9999 }), silent('D')])).toBeUndefined()
  expect(find([a, b, server('C', { stableMs: 10_000 }), silent('D')])).toBe('D')
})

it('dead server cleanup stops if as many servers are silent as reachable', () => {
  expect(find([a, b, c, silent('D'), silent('E'), silent('F')])).toBeUndefined()
  expect(find([a, b, c, silent('D'), silent('E')])).toBe('D')
})

it('dead server cleanup never removes the leader', () => {
  expect(find([silent('A'), b, c, server('D')])).toBeUndefined()
})

it('dead server cleanup may always remove a server without a vote', () => {
  expect(find([a, silent('D', 60_000, { isVoter: false })])).toBe('D')
})

/** Exceptions from the size limits of the project. Entries may be removed and numbers reduced, never the opposite. */

/** Maximum number of lines by file. */
export const LONG_FILES: Readonly<Record<string, number>> = {
  'src/client/api-client.ts': 300,
  'src/core/pipeline/request-handler.ts': 270,
  'src/core/mounts/router.ts': 280,
  'src/core/tokens/tokens.ts': 300,
  'src/replication/secondary/follower.ts': 280,
  'src/server/own-api/lab-api.ts': 280,
  'src/server/runtime/runtime-host.ts': 300,
  'src/storage/commit/committer.ts': 320,
  'src/storage/store/store.ts': 300,
}

/** Maximum number of functions with more than four parameters by file. */
export const LONG_LISTS: Readonly<Record<string, number>> = {
  'src/auth/approle/properties.ts': 1,
  'src/base/hcl-blocks.ts': 1,
  'src/cli/commands/lab/drill-run.ts': 1,
  'src/cli/commands/lab/up.ts': 1,
  'src/crypto/aead.ts': 1,
  'src/lab/lifecycle/server-controls.ts': 1,
  'src/lab/lifecycle/servers.ts': 1,
  'src/lab/operations/role-changes.ts': 2,
  'src/lab/live/probe.ts': 1,
  'src/lab/requests/replication.ts': 1,
  'src/lab/requests/wait.ts': 1,
  'src/storage/barrier/barrier-codec.ts': 1,
  'src/storage/commit/stage-trim.ts': 1,
  'src/storage/commit/stage.ts': 1,
  'src/storage/sync/first-copy.ts': 1,
  'src/storage/store/view.ts': 1,
}

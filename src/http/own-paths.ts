import { isListed } from '../logical/path-list.js'

/** Endpoints that judge the verb before anything else and answer a wrong one with an empty list of errors. */
const OWN_VERBS: ReadonlyMap<string, readonly string[]> = new Map([
  ['sys/health', ['GET', 'HEAD']],
  ['sys/seal-status', ['GET']],
  ['sys/leader', ['GET']],
  ['sys/init', ['GET', 'PUT', 'POST']],
  ['sys/unseal', ['PUT', 'POST']],
  ['sys/seal', ['PUT', 'POST']],
  ['sys/step-down', ['PUT', 'POST']],
])

export const isWrongVerb = (path: string, verb: string): boolean => {
  const verbs = OWN_VERBS.get(path)
  return verbs !== undefined && !verbs.includes(verb)
}

/** Endpoints without an envelope. Their bodies are read by another decoder, which ignores the case of names. */
const BARE = [
  'sys/init',
  'sys/unseal',
  'sys/seal',
  'sys/step-down',
  'sys/generate-root/*',
  'sys/generate-root-token/*',
  'sys/rekey/*',
  'sys/rekey-recovery-key/*',
  'sys/replication/dr/secondary/generate-operation-token/*',
]

export const isBarePath = (path: string): boolean => path.startsWith('sys/') && isListed(BARE, path)

/** Endpoints whose body is a file. */
const RAW_BODY: ReadonlySet<string> = new Set(['sys/storage/raft/snapshot', 'sys/storage/raft/snapshot-force'])

export const takesRawBody = (path: string): boolean => RAW_BODY.has(path)

import type { TestContext } from 'vitest'
import { runnerName } from './cluster-server.js'

/**
 * What means nothing unless every server is a process of its own, and why. A drill that needs it says so by this name, and is
 * skipped with this reason where all servers share the process of the test. What is not listed here runs everywhere.
 */
const ONLY_PROCESSES = {
  SIGSTOP: 'it would stop the test as well; that a peer is silent is seen in-process by a link that is held',
} as const

export const needsProcess = ({ skip, task }: TestContext, what: keyof typeof ONLY_PROCESSES): void => {
  if (runnerName() === 'child-process') return
  const reason = `${what}: ${ONLY_PROCESSES[what]}`
  console.log(`skipped: ${task.name} (${reason})`)
  skip(reason)
}

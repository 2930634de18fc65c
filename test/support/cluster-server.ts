import { inject } from 'vitest'
import type { Level } from '../../scripts/support/tiers.js'
import type { PortPair } from '../../src/lab/model/ports.js'
import type { ServerPlan } from '../../src/lab/runner/server-plan.js'
import { ClusterInProcess } from './cluster-in-process.js'
import { ClusterProcess } from './cluster-process.js'

/** Where the servers of a test run. A vitest project provides one; without it they are processes. */
export type RunnerName = 'child-process' | 'in-process'

declare module 'vitest' {
  interface ProvidedContext {
    runner: RunnerName
    /** The level of the run: it decides how much a randomized tier plays. */
    level: Level
  }
}

/** Where and how one server is started. */
export interface ProcessPlan extends ServerPlan {
  readonly ports: PortPair
  readonly directory: string
}

/** A server under test, with the data and the ports that outlive it. Every runner keeps these promises. */
export interface ClusterServer {
  readonly dataDir: string
  /** Of the cluster port itself, behind whatever is advertised. */
  readonly clusterPort: number
  readonly isRunning: boolean
  /** The end of the log, to be shown when something failed. */
  readonly lastLogLines: string
  /** Starts on what is there. It may not answer yet. */
  start(): Promise<void>
  /** Ends it in order, as SIGTERM does. */
  stop(): Promise<void>
  /** Ends it from one moment to the next, as SIGKILL does. */
  crash(): Promise<void>
  /** Ends it, in order where it still can, and surely. Nothing happens when it does not run. */
  close(): Promise<void>
}

const RUNNERS: Readonly<Record<RunnerName, (plan: ProcessPlan) => ClusterServer>> = {
  'child-process': (plan) => new ClusterProcess(plan),
  'in-process': (plan) => new ClusterInProcess(plan),
}

export const runnerName = (): RunnerName => inject('runner') ?? 'child-process'

export const createClusterServer = (plan: ProcessPlan): ClusterServer => RUNNERS[runnerName()](plan)

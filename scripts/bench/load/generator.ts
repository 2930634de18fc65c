import type { ChildProcess } from 'node:child_process'
import { askChild, endChild, forkScript } from '../child.js'
import { cpuMs } from '../machine.js'
import type { LoadPlan, LoadResult, ProbePlan, ProbeResult, WorkerAnswer, WorkerTask } from './plan.js'

/** A plan without the fields that most runs share. */
export type Work = Pick<LoadPlan, 'port' | 'method' | 'path'> & Partial<LoadPlan>

/**
 * The load generator. It has its own process, so that its cost is not part of the server's. It runs one task at a time.
 */
export class Generator {
  readonly #child: ChildProcess

  constructor() {
    this.#child = forkScript('load/worker.ts')
  }

  /** Runs a plan. Rejects if a connection breaks, or if the server rejects a request. */
  async load(work: Work, connections: number, seconds: number): Promise<LoadResult> {
    const plan: LoadPlan = {
      warmupSeconds: Math.min(0.3, seconds / 4),
      body: '',
      headers: {},
      spread: 1,
      items: [],
      ...work,
      connections,
      seconds,
    }
    const result = (await this.#run({ kind: 'load', plan })) as LoadResult
    if (result.refused > 0) {
      throw new Error(`${plan.method} ${plan.path}: ${result.refused} of ${result.answers} refused: ${result.refusal}`)
    }
    return result
  }

  /**
   * Runs a plan like `load`, and measures the processor time of the server per request, which varies less than rates.
   */
  async loadWithCpu(
    pid: number,
    work: Work,
    connections: number,
    seconds: number,
  ): Promise<LoadResult & { cpuMicros: number }> {
    const before = cpuMs(pid)
    const result = await this.load(work, connections, seconds)
    return { ...result, cpuMicros: ((cpuMs(pid) - before) * 1000) / result.answersInAll }
  }

  async probe(plan: ProbePlan): Promise<ProbeResult> {
    return (await this.#run({ kind: 'probe', plan })) as ProbeResult
  }

  close(): void {
    endChild(this.#child)
  }

  async #run(task: WorkerTask): Promise<unknown> {
    const answer = await askChild<WorkerAnswer>(this.#child, task)
    if (!answer.ok) throw new Error(answer.error)
    return answer.result
  }
}

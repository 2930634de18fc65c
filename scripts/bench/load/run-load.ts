import { performance } from 'node:perf_hooks'
import { quantile } from '../stats.js'
import { type Answer, Connection, printRequest } from './connection.js'
import type { LoadPlan, LoadResult } from './plan.js'

/** Builds the text of the next request from a constant part and the varying values. */
const requestMaker = (plan: LoadPlan): (() => string) => {
  let count = 0
  return () => {
    const n = String(count % plan.spread)
    const item = plan.items[count % Math.max(plan.items.length, 1)] ?? ''
    count++
    const fill = (text: string) => text.replace('{n}', n).replace('{item}', item)
    return printRequest(plan.method, fill(plan.path), plan.headers, fill(plan.body))
  }
}

/** Keeps a constant rate: each millisecond, it lets idle connections send the requests that are due. */
class Pacer {
  readonly #idle: (() => void)[] = []
  readonly #timer: NodeJS.Timeout
  #due = 0

  constructor(ratePerSecond: number) {
    let lastMs = performance.now()
    this.#timer = setInterval(() => {
      const nowMs = performance.now()
      this.#due = Math.min(this.#due + ((nowMs - lastMs) * ratePerSecond) / 1000, ratePerSecond / 10)
      lastMs = nowMs
      while (this.#due >= 1) {
        const next = this.#idle.shift()
        if (!next) break
        this.#due--
        next()
      }
    }, 1)
  }

  wait(next: () => void): void {
    this.#idle.push(next)
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}

/** Runs a plan, and resolves after its last response. Rejects if a connection breaks. */
export const runLoad = async (plan: LoadPlan): Promise<LoadResult> => {
  const connections = await Promise.all(Array.from({ length: plan.connections }, () => Connection.open(plan.port)))
  const nextRequest = requestMaker(plan)
  const latencies: number[] = []
  const pacer = plan.ratePerSecond === undefined ? undefined : new Pacer(plan.ratePerSecond)
  let refused = 0
  let refusal = ''
  let answers = 0
  let answersInAll = 0
  const startMs = performance.now() + plan.warmupSeconds * 1000
  const endMs = startMs + plan.seconds * 1000
  let lastMs = startMs

  const drive = (connection: Connection) =>
    new Promise<void>((resolve, reject) => {
      connection.onFailure(reject)
      let sentMs = 0
      const send = () => {
        sentMs = performance.now()
        connection.send(nextRequest(), take)
      }
      const take = (answer: Answer) => {
        const nowMs = performance.now()
        answersInAll++
        if (sentMs >= startMs) {
          answers++
          latencies.push(nowMs - sentMs)
          lastMs = nowMs
          if (answer.status >= 400 && refused++ === 0) refusal = `${answer.status} ${answer.body.toString('utf8')}`
        }
        if (nowMs >= endMs || answers >= (plan.answersMax ?? Number.POSITIVE_INFINITY)) resolve()
        else if (pacer) pacer.wait(send)
        else send()
      }
      send()
    })
  try {
    await Promise.all(connections.map(drive))
  } finally {
    pacer?.stop()
    for (const connection of connections) connection.close()
  }
  const seconds = (lastMs - startMs) / 1000
  return {
    answers,
    answersInAll,
    seconds,
    rate: answers / seconds,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    refused,
    refusal,
    bytesIn: connections.reduce((sum, { bytesIn }) => sum + bytesIn, 0),
    bytesOut: connections.reduce((sum, { bytesOut }) => sum + bytesOut, 0),
  }
}

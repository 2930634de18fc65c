import { Worker } from 'node:worker_threads'

/** The slowest answers of one watch, in milliseconds, and answers that did not come. */
export interface HealthFigures {
  readonly answers: number
  readonly slowestMs: number
  readonly slowestPath: string
  readonly failures: readonly string[]
}

const PATHS = ['sys/health', 'sys/seal-status', 'sys/replication/status', 'sys/leader']

/**
 * Asks one path after the other, each on a connection that stays, in a thread of its own: what the test does meanwhile is
 * not measured.
 */
const WATCHER = `
const { parentPort, workerData } = require('node:worker_threads')
const http = require('node:http')
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
const figures = { answers: 0, slowestMs: 0, slowestPath: '', failures: [] }
let isDone = false
parentPort.on('message', () => { isDone = true })
const ask = (path) => new Promise((resolve) => {
  const startMs = performance.now()
  const fail = (error) => { figures.failures.push(path + ': ' + error); resolve() }
  const request = http.get(workerData.address + '/v1/' + path, { agent }, (response) => {
    response.resume()
    response.once('error', fail)
    response.once('end', () => {
      const ms = performance.now() - startMs
      figures.answers++
      if (response.statusCode >= 500) fail(response.statusCode)
      if (ms > figures.slowestMs) { figures.slowestMs = ms; figures.slowestPath = path }
      resolve()
    })
  })
  request.once('error', fail)
})
const run = async () => {
  await ask(workerData.paths[0])
  figures.slowestMs = 0
  for (let n = 0; !isDone; n++) {
    await ask(workerData.paths[n % workerData.paths.length])
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  agent.destroy()
  parentPort.postMessage(figures)
  parentPort.close()
}
run()
`

/** Runs `work` while the endpoints that every monitor asks are asked all the time. */
export const watchHealth = async (address: string, work: () => Promise<unknown>): Promise<HealthFigures> => {
  const worker = new Worker(WATCHER, { eval: true, workerData: { address, paths: PATHS } })
  const figures = new Promise<HealthFigures>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  try {
    await work()
  } finally {
    worker.postMessage('enough')
  }
  return figures
}

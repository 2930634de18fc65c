/**
 * A preload for a server. Records each turn of the event loop that uses more than 25 ms of processor time of the main
 * thread. Processor time does not depend on other processes of the machine.
 */
const { openSync, readSync, writeSync } = require('node:fs')
const { isMainThread } = require('node:worker_threads')

const TICK_MS = 4
const REPORTED_MS = 25

if (isMainThread && process.env.LOOP_WATCH_FILE) {
  const statistics = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r')
  const report = openSync(process.env.LOOP_WATCH_FILE, 'a')
  const bytes = Buffer.alloc(64)
  const cpuMs = () => Number.parseInt(bytes.toString('latin1', 0, readSync(statistics, bytes, 0, 64, 0)), 10) / 1e6
  let last = cpuMs()
  setInterval(() => {
    const now = cpuMs()
    if (now - last > REPORTED_MS) writeSync(report, `${(now - last).toFixed(1)}\n`)
    last = now
  }, TICK_MS).unref()
}

#!/usr/bin/env node
import { constants } from 'node:os'
import { keepHeapSmall } from '../base/garbage.js'
import { StopSignals } from './terminal/stop-signals.js'

/**
 * The kernel ignores signals to the first process of a container unless it has a handler, so handlers are installed
 * before anything else is loaded. Until the command has its own handlers, a signal ends it.
 */
const signals = new StopSignals((signal) => {
  if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal])
})
const runProcess = async (): Promise<void> => {
  // Before the bundle is loaded: V8 rejects saved code if its options were different.
  keepHeapSmall()
  const { runContainer } = await import('./run-container.js')
  process.exitCode = await runContainer(signals)
}

void runProcess()

#!/usr/bin/env node
import { constants } from 'node:os'
import { StopSignals } from './terminal/stop-signals.js'

/**
 * The kernel drops signals that a first process has no listener for, so this one listens before it loads the rest. Until the
 * command has listeners of its own, a signal ends it.
 */
const signals = new StopSignals((signal) => {
  if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal])
})
const { runContainer } = await import('./run-container.js')
process.exitCode = await runContainer(signals)

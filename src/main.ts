#!/usr/bin/env node
import { outliveReaders } from './cli/output.js'
import { run } from './cli/program.js'

outliveReaders()
process.exitCode = await run(process.argv.slice(1))

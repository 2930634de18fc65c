#!/usr/bin/env node
import { outliveReaders } from './cli/output.js'
import { run } from './cli/program.js'
import { endOnMistakes } from './cli/unexpected.js'

outliveReaders()
endOnMistakes()
process.exitCode = await run(process.argv.slice(1))

#!/usr/bin/env node
/** Runs one of the project's own TypeScript files with Bun: `node bin/run.mjs FILE [ARGS…]`. */
import { runWithBun } from './bun.mjs'

runWithBun(process.argv.slice(2))

#!/usr/bin/env node
/** The `stampede` command: hands everything to src/main.ts, run by Bun. */
import { fileURLToPath } from 'node:url'
import { runWithBun } from './bun.mjs'

runWithBun([fileURLToPath(new URL('../src/main.ts', import.meta.url)), ...process.argv.slice(2)])

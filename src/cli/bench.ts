/** `stampede bench`: the same as `npm run bench`. Lives outside `src`, because it is about the engine and not part of it. */

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { Fault } from '../base/fault.ts'

export function addBench(program: Command): void {
  program
    .command('bench')
    .description('measure this machine: every figure a ratio against a reference in the same run')
    .argument('[options...]', 'as for npm run bench: --only NAME, --out FOLDER, compare A.json B.json …')
    .allowUnknownOption()
    .helpOption(false)
    .action(async (options: readonly string[]) => {
      const main = fileURLToPath(new URL('../../bench/main.ts', import.meta.url))
      if (!existsSync(main))
        throw new Fault('no_bench', 'the bench is not part of this installation: clone the project to run it')
      const child = spawn(process.execPath, [main, ...options], { stdio: 'inherit' })
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
      process.exit(await new Promise<number>(resolve => child.on('exit', code => resolve(code ?? 1))))
    })
}

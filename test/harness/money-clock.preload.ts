/**
 * Loaded into a server before anything else (BUN_OPTIONS): its wall clock runs `CLOCK_OFFSET_FILE` milliseconds beside the system's.
 * SIGUSR2 makes it read the file again: a step of the clock, while it runs; what it has read stands in a file beside it, ending in
 * `.heard`. Timers and the monotonic clock go on as ever.
 */

import { readFileSync, writeFileSync } from 'node:fs'

const file = process.env.CLOCK_OFFSET_FILE ?? ''
let offsetMs = 0
const read = () => {
  offsetMs = Number(readFileSync(file, 'utf8'))
  writeFileSync(`${file}.heard`, String(offsetMs))
}
const RealDate = Date
const realNow = RealDate.now.bind(RealDate)

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args) => (args.length === 0 ? new target(realNow() + offsetMs) : Reflect.construct(target, args)),
  get: (target, key) => (key === 'now' ? () => realNow() + offsetMs : Reflect.get(target, key)),
})
read()
process.on('SIGUSR2', read)

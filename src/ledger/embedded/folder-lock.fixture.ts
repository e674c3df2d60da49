/** A process that races for folder locks: for each folder it reads, it tries to lock it, prints the result, and keeps the lock. */

import { createInterface } from 'node:readline'
import { Fault } from '../../base/fault.ts'
import { lockFolder } from './folder-lock.ts'

console.log('ready')
for await (const folder of createInterface({ input: process.stdin })) {
  try {
    lockFolder(folder)
    console.log('won')
  } catch (error) {
    console.log(error instanceof Fault ? error.code : String(error))
  }
}

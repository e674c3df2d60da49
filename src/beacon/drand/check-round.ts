/** A thread's whole work: checks the signature of one round of drand, and answers with its value, or null if it is wrong. */

import { parentPort, workerData } from 'node:worker_threads'
import { drandValue } from '../../domain/draw/drand-signature.ts'

const { round, signature } = workerData as { readonly round: number; readonly signature: string }
parentPort?.postMessage({ value: drandValue(round, signature) ?? null })

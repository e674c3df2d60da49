/** The waiting lines: what this process knows of them, and, where it leads, who lets people in. */

import { createKeyedHash } from '../admission/rate/keyed-hash.ts'
import { FollowedLines } from '../flows/line/followed-lines.ts'
import { LetIn } from '../flows/line/let-in.ts'
import type { ProcessContext } from './process-context.ts'

export function openLines(context: ProcessContext) {
  const nowMs = () => context.view.nowMs()
  const makeHash = () => createKeyedHash(context.random)
  const followedLines = new FollowedLines({ ...context, makeHash, nowMs })
  const letIn = new LetIn({ ...context, followedLines, nowMs })
  return { followedLines, letIn: () => letIn.round() }
}

/** The answer of a click that is traced: it names its trace, in a header and, where it is a problem, in its body too. */

import type { TracedAnswer } from '../base/trace.ts'

/** As the W3C's Trace Context, level 2, names it. */
export const TRACE_RESPONSE_HEADER = 'traceresponse'

export interface ClickTracer {
  /** Undefined: this click is not traced. */
  click(request: Request): TracedAnswer | undefined
}

export async function tracedAnswer(trace: TracedAnswer, item: string, answering: Promise<Response>): Promise<Response> {
  let status = 500
  try {
    const answer = await answering
    status = answer.status
    const named = status < 400 ? answer : await withTraceId(answer, trace.traceId)
    named.headers.set(TRACE_RESPONSE_HEADER, trace.own)
    return named
  } finally {
    trace.end({ 'http.request.method': 'POST', 'http.response.status_code': status, 'stampede.item': item })
  }
}

async function withTraceId(problem: Response, traceId: string): Promise<Response> {
  const body = { ...((await problem.json()) as object), traceId }
  return new Response(JSON.stringify(body), { status: problem.status, headers: problem.headers })
}

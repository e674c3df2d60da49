/** An OpenTelemetry collector as far as the tests need one: takes OTLP over HTTP as JSON, checks its form, and keeps the spans by trace. It can hang. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Playground } from './playground.ts'

export interface SeenSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly fromMs: number
  readonly toMs: number
  readonly fields: Readonly<Record<string, unknown>>
  /** Of the process that sent it. */
  readonly roles: string
}

interface WireAttribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly doubleValue?: number }
}

interface WireSpan extends Omit<SeenSpan, 'fromMs' | 'toMs' | 'fields' | 'roles'> {
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly WireAttribute[]
}

interface WireBody {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly WireAttribute[] }
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[]
  }[]
}

export class TraceReceiver {
  readonly spans: SeenSpan[] = []
  /** What was asked that a collector would refuse. */
  readonly wrong: string[] = []
  /** Requests are read and never answered. */
  hangs = false
  requests = 0
  url = ''

  static async open(playground: Playground): Promise<TraceReceiver> {
    const receiver = new TraceReceiver()
    const server = createServer((request, response) => {
      receiver.requests += 1
      if (receiver.hangs) return void request.resume()
      const chunks: Buffer[] = []
      request.on('data', chunk => chunks.push(chunk))
      request.on('end', () => {
        if (request.method !== 'POST' || request.url !== '/v1/traces')
          receiver.wrong.push(`${request.method} ${request.url}`)
        receiver.#take(Buffer.concat(chunks).toString())
        response.setHeader('content-type', 'application/json').end('{}')
      })
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    playground.onUndo(() => {
      server.closeAllConnections()
      return new Promise<void>(resolve => server.close(() => resolve()))
    })
    return receiver
  }

  of(traceId: string): readonly SeenSpan[] {
    return this.spans.filter(span => span.traceId === traceId).toSorted((a, b) => a.fromMs - b.fromMs)
  }

  #take(text: string): void {
    const { resourceSpans } = JSON.parse(text) as WireBody
    for (const { resource, scopeSpans } of resourceSpans) {
      const roles = String(fieldsOf(resource.attributes)['stampede.roles'])
      for (const span of scopeSpans.flatMap(one => one.spans)) {
        const { startTimeUnixNano, endTimeUnixNano, attributes, ...ids } = span
        if (!/^[0-9a-f]{32}$/.test(span.traceId) || !/^[0-9a-f]{16}$/.test(span.spanId)) this.wrong.push(text)
        if (!/^\d{19}$/.test(startTimeUnixNano) || !/^\d{19}$/.test(endTimeUnixNano)) this.wrong.push(text)
        const times = { fromMs: Number(startTimeUnixNano) / 1e6, toMs: Number(endTimeUnixNano) / 1e6 }
        this.spans.push({ ...ids, ...times, fields: fieldsOf(attributes), roles })
      }
    }
  }
}

function fieldsOf(attributes: readonly WireAttribute[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.doubleValue]))
}

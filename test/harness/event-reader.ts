/** A shop that reads the feed: every answer must be as described, every number must follow the one before. */

import { expect } from 'bun:test'
import type { CloudEvent } from '../../src/wire/events/cloud-event.ts'
import { assertDescribed } from './described.ts'
import { ADMIN_TOKEN } from './stampede.ts'

interface FeedReply {
  readonly status: number
  readonly body: { readonly events: readonly CloudEvent[]; readonly next: string; readonly oldest?: string }
}

export class EventReader {
  readonly events: CloudEvent[] = []
  readonly #url: () => string

  constructor(url: () => string) {
    this.#url = url
  }

  async ask(query: string): Promise<FeedReply> {
    const response = await fetch(`${this.#url()}/api/admin/events?${query}`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      signal: AbortSignal.timeout(60_000),
    })
    const text = await response.text()
    assertDescribed('GET', '/api/admin/events', response.status, response.headers, text)
    return { status: response.status, body: JSON.parse(text) as FeedReply['body'] }
  }

  /** Goes on behind the last event that it has, to the end. */
  async catchUp(limit = 100): Promise<readonly CloudEvent[]> {
    for (;;) {
      const { status, body } = await this.ask(`after=${this.events.at(-1)?.id ?? 0}&limit=${limit}`)
      expect(status).toBe(200)
      if (body.events.length === 0) return this.events
      for (const event of body.events) {
        expect(Number(event.id), 'the next number').toBe(Number(this.events.at(-1)?.id ?? 0) + 1)
        this.events.push(event)
      }
    }
  }

  /** `type subject`, without the prefix. */
  told(): string[] {
    return this.events.map(({ type, subject }) => `${type.replace('stampede.', '')} ${subject}`)
  }
}

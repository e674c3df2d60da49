import { expect, test } from 'bun:test'
import { Command } from 'commander'
import { addEvents } from './events-tail.ts'

test('the newest cursor is asked for without waiting: when the first long wait is lost, its cursor is used again', async () => {
  const asked: string[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const query = new URL(request.url).searchParams
      asked.push(`after=${query.get('after')} wait=${query.get('wait')}`)
      if (asked.length === 1) return Response.json({ events: [], next: '41' })
      const code = asked.length === 2 ? 'unavailable' : 'cursor_expired'
      return Response.json({ code, detail: code }, { status: asked.length === 2 ? 503 : 410 })
    },
  })
  try {
    const program = new Command().exitOverride()
    addEvents(program)
    const tail = ['events', 'tail', '--server', server.url.origin, '--token', 'a token']
    await expect(program.parseAsync(tail, { from: 'user' })).rejects.toThrow('cursor_expired')
    expect(asked).toEqual(['after=newest wait=0', 'after=41 wait=20', 'after=41 wait=20'])
  } finally {
    await server.stop(true)
  }
})

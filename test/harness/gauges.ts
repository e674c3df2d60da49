/** What a server's metrics say, as its operator reads them. */

import { ADMIN_TOKEN, type Stampede } from './stampede.ts'

export async function gauge(server: Pick<Stampede, 'url'>, series: string): Promise<number> {
  return (await gauges(server))(series)
}

/** What the metrics say, all of it at one moment. */
export async function gauges(server: Pick<Stampede, 'url'>): Promise<(series: string) => number> {
  const text = await (
    await fetch(`${server.url()}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
  ).text()
  return series => {
    const line = text.split('\n').find(one => one.startsWith(`${series} `))
    if (line === undefined) throw new Error(`there is no ${series} in the metrics`)
    return Number(line.slice(series.length + 1))
  }
}

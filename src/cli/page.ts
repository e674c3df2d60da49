/** `stampede page build`: the buyer's page as files for a web server or a CDN, and how nginx should serve them. */

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Command } from 'commander'
import { ASSET_HEADERS, ASSETS_PATH, loadPages, PAGE_HEADERS } from '../edge/pages.ts'

export function addPage(program: Command): void {
  program
    .command('page')
    .description("the buyer's page")
    .command('build')
    .description('write the page as files for a CDN, with cache headers for nginx')
    .requiredOption('--out <dir>', 'folder to write to; made when it is missing')
    .action(async ({ out }: { out: string }) => {
      const { buyer, assets: all } = await loadPages()
      // The operations page is served by the server alone. What a page loads later is not named in its HTML.
      const assets = new Map([...all].filter(([name]) => !name.startsWith('ops-')))
      await mkdir(join(out, ASSETS_PATH), { recursive: true })
      // Files first, the page that names them last: a copy made meanwhile never holds a page without its files.
      for (const [name, file] of assets) await writeFile(join(out, ASSETS_PATH, name), file.bytes)
      await writeFile(join(out, 'nginx.conf'), nginxConf())
      await writeFile(join(out, 'index.html'), buyer.bytes)
      const kilobytes =
        [...assets.values()].reduce((sum, file) => sum + file.gzipped.length, buyer.gzipped.length) / 1000
      process.stdout.write(
        `wrote index.html, ${assets.size} files in ${ASSETS_PATH.slice(1, -1)} and nginx.conf to ${out} (${kilobytes.toFixed(1)} kB compressed)\n`,
      )
    })
}

function nginxConf(): string {
  const lines = (headers: Readonly<Record<string, string>>) =>
    Object.entries(headers)
      .map(([name, value]) => `    add_header ${name} "${value}" always;`)
      .join('\n')
  return `# For a server block whose root is this folder. Everything else, /api/ above all, goes to Stampede.
# Old files may stay beside new ones for as long as buyers may have the old page open.

location ~ ^/(s/[^/]+|orders|orders/[^/]+)?$ {
    try_files /index.html =404;
    gzip on;
${lines(PAGE_HEADERS)}
}

location ${ASSETS_PATH} {
    try_files $uri =404;
    gzip on;
    gzip_types text/css text/javascript application/javascript image/svg+xml;
${lines(ASSET_HEADERS)}
}
`
}

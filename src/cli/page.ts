/** `stampede page build`: the buyer's page as files for a web server or a CDN, and how nginx should serve them. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Command } from 'commander'
import { writePageFolder } from '../app/compose-pages.ts'
import { ASSET_HEADERS, ASSETS_PATH, PAGE_HEADERS, WRITTEN_PAGE_HEADERS } from '../edge/pages.ts'

export function addPage(program: Command): void {
  program
    .command('page')
    .description("the buyer's page")
    .command('build')
    .description('write the page as files for a CDN, with cache headers for nginx')
    .requiredOption('--out <dir>', 'folder to write to; made when it is missing')
    .action(async ({ out }: { out: string }) => {
      const { assets, gzippedBytes } = await writePageFolder(out)
      await writeFile(join(out, 'nginx.conf'), nginxConf())
      process.stdout.write(
        `wrote index.html, ${assets} files in ${ASSETS_PATH.slice(1, -1)} and nginx.conf to ${out} (${(gzippedBytes / 1000).toFixed(1)} kB compressed)\n`,
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

# A sale's own page, with its data inside, where PAGES_DIR of the processes is this folder; else the page that asks for them.
location ~ ^/(?:s/(?<stampede_sale>[0-9]+))?$ {
    try_files /s/$stampede_sale.html /index.html =404;
    gzip on;
    gzip_vary on;
${lines(WRITTEN_PAGE_HEADERS)}
}

location ~ ^/(s/[^/]+|orders|orders/[^/]+)$ {
    try_files /index.html =404;
    gzip on;
    gzip_vary on;
${lines(PAGE_HEADERS)}
}

# Those of the operations page are served by the edges.
location ~ ^${ASSETS_PATH}(?!ops-) {
    try_files $uri =404;
    gzip_static on;
    gzip on;
    gzip_vary on;
    gzip_types text/css text/javascript application/javascript image/svg+xml;
${lines(ASSET_HEADERS)}
}
`
}

/** Pre-rendered pages: where they are put, what hears of a change, and their publisher, which works in the leader. */

import { systemClock } from '../base/clock.ts'
import { systemRandom } from '../base/random.ts'
import { ASSETS_PATH, isBuyerAsset, loadPages, type Pages, WRITTEN_PAGE_HEADERS } from '../edge/pages.ts'
import { indexPage, salePage, writtenSale } from '../edge/sale-page.ts'
import { offersOf } from '../flows/operate/payment-offer.ts'
import { PageNotices } from '../flows/tell/page-notices.ts'
import { PagePublisher, type PageWriter } from '../flows/tell/publish-pages.ts'
import { createPageFolder } from '../pages/folder/page-folder.ts'
import { createUploadCommand } from '../pages/notice/command.ts'
import { createPurge } from '../pages/notice/purge.ts'
import { INDEX_PATH, type StaticFile, salePath } from '../pages/page-store.ts'
import { createS3Store } from '../pages/s3/s3-store.ts'
import type { Flows } from './compose-flows.ts'
import type { ProcessContext } from './process-context.ts'

const HTML = 'text/html; charset=utf-8'

/** Undefined: no place for pages is set, or this process never leads. */
export function composePages(context: ProcessContext, providers: Flows['providers']): PagePublisher | undefined {
  const { config } = context
  if (config.pages === undefined || !config.roles.includes('keeper')) return undefined
  const { folder, s3, command, purge } = config.pages
  const store = s3 === undefined ? createPageFolder(folder!, context) : createS3Store(s3, context.clock)
  const notices = [
    ...(command ? [createUploadCommand(command, context.clock)] : []),
    ...(purge ? [createPurge(purge, context.clock)] : []),
  ]
  let writer: Promise<PageWriter> | undefined
  return new PagePublisher({
    ...context,
    store,
    notices: new PageNotices(context, notices),
    writer: () => {
      writer ??= createPageWriter(providers)
      return writer
    },
  })
}

/** The page without sales, for a web server: `stampede page build`. Files first, the page that names them last. */
export async function writePageFolder(
  folder: string,
): Promise<{ readonly assets: number; readonly gzippedBytes: number }> {
  const store = createPageFolder(folder, { clock: systemClock, random: systemRandom })
  const { html, buyer, assets } = await loadPages()
  const files = assetFiles(assets)
  for (const file of files) await store.put(file)
  await store.put(pageFile(INDEX_PATH, html))
  const gzipped = [...assets].filter(([name]) => isBuyerAsset(name)).map(([, file]) => file.gzipped.length)
  return { assets: files.length, gzippedBytes: gzipped.reduce((sum, bytes) => sum + bytes, buyer.gzipped.length) }
}

function pageFile(path: string, text: string): StaticFile {
  return { path, bytes: Buffer.from(text), contentType: HTML, cacheControl: WRITTEN_PAGE_HEADERS['cache-control']! }
}

function assetFiles(assets: Pages['assets']): readonly StaticFile[] {
  return [...assets]
    .filter(([name]) => isBuyerAsset(name))
    .map(([name, { bytes, headers }]) => {
      const path = `${ASSETS_PATH.slice(1)}${name}`
      return { path, bytes, contentType: headers['content-type']!, cacheControl: headers['cache-control']! }
    })
}

/** The bundler is asked once: its files have names of their content. */
async function createPageWriter(providers: Flows['providers']): Promise<PageWriter> {
  const { html, assets } = await loadPages()
  const files = assetFiles(assets)
  const written = (sale: Parameters<PageWriter['sale']>[0]) => writtenSale(sale, one => offersOf(providers, one))
  return {
    assets: () => files,
    sale: sale => pageFile(salePath(sale.id), salePage(html, written(sale))),
    index: sales => pageFile(INDEX_PATH, indexPage(html, sales.map(written))),
  }
}

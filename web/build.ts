/**
 * Bundles a page: its script and style get names made of their content, its HTML names them. Whatever is in the folder is taken as it
 * is: `page.html` with `%script%`, `%style%` and `%icon%` in it, `main.tsx`, `page.css` and, if it is there, `icon.svg`. Each file of `later/` is a script
 * apart, which the page loads when it needs it: `LATER_ADDRESSES` in the page's script has their addresses.
 * The only file besides the server's own that uses Bun: its bundler. Does not know HTTP; src/edge/pages.ts serves what comes out.
 */

import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, parse } from 'node:path'

interface BuiltFile {
  /** `main-3f9c….js`: may be kept for ever under this name. */
  readonly name: string
  readonly text: string
}

interface BuiltPage {
  readonly html: string
  readonly files: readonly BuiltFile[]
}

/** `assetsPath` ends with a slash. Rejects when the sources can't be bundled, with the bundler's own words. */
async function buildPage(folder: 'buyer' | 'challenge' | 'ops' | 'preview', assetsPath: string): Promise<BuiltPage> {
  const root = join(import.meta.dirname, folder)
  const later = await buildLater(folder, join(root, 'later'))
  const addresses = later.map(({ key, file }) => [key, `${assetsPath}${file.name}`])
  const [script, style, icon, template] = await Promise.all([
    bundle(join(root, 'main.tsx'), {
      define: { LATER_ADDRESSES: JSON.stringify(Object.fromEntries(addresses)) },
      external: addresses.map(([, address]) => address!),
    }),
    bundle(join(root, 'page.css')),
    existsSync(join(root, 'icon.svg')) ? readFile(join(root, 'icon.svg'), 'utf8') : '',
    readFile(join(root, 'page.html'), 'utf8'),
  ])
  const files = {
    script: named(folder, 'js', script),
    style: named(folder, 'css', style),
    icon: named(folder, 'svg', icon),
  }
  const html = template.replace(
    /%(script|style|icon)%/g,
    (_, name: keyof typeof files) => `${assetsPath}${files[name].name}`,
  )
  const own = Object.values(files).filter(({ text }) => text !== '')
  return { html, files: [...own, ...later.map(({ file }) => file)] }
}

/** Everything that the server shows, and the button for pages of shops. */
export async function buildPages(assetsPath: string) {
  const [button, buyer, challenge, ops, preview] = await Promise.all([
    buildButton(),
    buildPage('buyer', assetsPath),
    buildPage('challenge', assetsPath),
    buildPage('ops', assetsPath),
    buildPage('preview', assetsPath),
  ])
  return { button, buyer, challenge, ops, preview }
}

export type BuiltPages = Awaited<ReturnType<typeof buildPages>>

/** One script, from the client's sources. */
function buildButton(): Promise<string> {
  return bundle(join(import.meta.dirname, '../client/src/button.ts'))
}

function buildLater(folder: string, path: string) {
  const sources = existsSync(path) ? readdirSync(path).filter(name => !name.includes('.test.')) : []
  return Promise.all(
    sources.map(async source => ({
      key: parse(source).name,
      file: named(folder, 'js', await bundle(join(path, source))),
    })),
  )
}

async function bundle(
  entrypoint: string,
  { define, external = [] }: { readonly define?: Record<string, string>; readonly external?: string[] } = {},
): Promise<string> {
  const built = await Bun.build({
    entrypoints: [entrypoint],
    target: 'browser',
    minify: true,
    define: { 'process.env.NODE_ENV': '"production"', ...define },
    external,
  })
  const [output] = built.outputs
  if (output === undefined) throw new Error(`nothing came out of ${entrypoint}`)
  return output.text()
}

function named(folder: string, extension: string, text: string): BuiltFile {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16)
  return { name: `${folder}-${hash}.${extension}`, text }
}

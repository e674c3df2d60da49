/** `stampede sale import`: files as shops have them become drafts, whole or not at all, and every fault is told with its row. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import type { OperatorSaleAnswer } from '../src/wire/answers.ts'
import { listenTo } from './harness/heard-out.ts'
import { Playground } from './harness/playground.ts'
import { PROGRAM } from './harness/program.ts'
import { ADMIN_TOKEN, Stampede } from './harness/stampede.ts'

setDefaultTimeout(120_000)

const playground = new Playground()
let server: Stampede
let scratch: string
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'stampede-import-'))
  chmodSync(scratch, 0o755)
  playground.onUndo(() => rmSync(scratch, { recursive: true, force: true }))
  server = await Stampede.start(playground, { dataDir: playground.dataDir() })
})
afterAll(() => playground.undo())

let files = 0
function importing(name: string, text: string | Buffer, ...more: string[]) {
  files += 1
  const file = join(scratch, `${files}-${name}`)
  writeFileSync(file, text)
  const args = [
    PROGRAM,
    'sale',
    'import',
    file,
    '--opens-at',
    '2099-01-01T00:00:00Z',
    '--closes-at',
    '2099-01-02T00:00:00Z',
  ]
  const child = spawn(process.execPath, [...args, ...more], {
    cwd: resolve(import.meta.dirname, '..'),
    env: { PATH: process.env.PATH, HOME: process.env.HOME, STAMPEDE_SERVER: server.url(), STAMPEDE_TOKEN: ADMIN_TOKEN },
  })
  child.stdin.end()
  return listenTo(child).ran
}

async function sales(): Promise<readonly OperatorSaleAnswer[]> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const response = await fetch(`${server.url()}/api/admin/sales`, { headers })
  return ((await response.json()) as { sales: OperatorSaleAnswer[] }).sales
}

/** Refused, with these words, and no draft was made. */
async function refused(ran: ReturnType<typeof importing>, ...words: string[]): Promise<void> {
  const before = (await sales()).length
  const { code, err } = await ran
  expect(code).not.toBe(0)
  for (const word of words) expect(err).toContain(word)
  expect((await sales()).length).toBe(before)
}

test('a spreadsheet of a German shop: semicolons, a byte order mark, quotes, variants, and a draft for each sale', async () => {
  const csv =
    '\uFEFFSale;Name;Variant;SKU;Price;List price;Units;Image\r\n' +
    'Freitag;"Teekanne ""Abend""";rot;T-1;19.90;29;10;https://shop.example/t1.png\r\n' +
    '\r\n' +
    'Freitag;Teekanne;"blau;\r\nmatt";T-2;19.90;;5;\r\n' +
    'Samstag;Becher;;B-1;5;;7;/becher.png\r\n'
  const tried = await importing(
    'products.csv',
    csv.replace('blau;\r\nmatt', 'blau; matt'),
    '--currency',
    'eur',
    '--dry-run',
  )
  expect([tried.code, tried.out.includes('nothing was made')]).toEqual([0, true])
  expect(await sales()).toEqual([])
  await refused(importing('lines.csv', csv, '--currency', 'EUR'), 'line 4: name: must not contain control characters')

  const { code, out } = await importing(
    'products.csv',
    csv.replace('blau;\r\nmatt', 'blau; matt'),
    '--currency',
    'EUR',
    '--contact-fields',
    'email, address',
  )
  expect([code, out.match(/Freitag|Samstag/g)?.length]).toEqual([0, 2])
  const made = (await sales()).toSorted((one, other) => (one.name < other.name ? -1 : 1))
  expect(made).toMatchObject([
    {
      name: 'Freitag',
      state: 'draft',
      contactFields: ['email', 'address'],
      items: [
        {
          name: 'Teekanne "Abend", rot',
          sku: 'T-1',
          price: { amount: 1990, currency: 'EUR' },
          listPrice: { amount: 2900 },
          units: 10,
          image: 'https://shop.example/t1.png',
        },
        { name: 'Teekanne, blau; matt', sku: 'T-2', units: 5 },
      ],
    },
    { name: 'Samstag', items: [{ name: 'Becher', price: { amount: 500 }, units: 7, image: '/becher.png' }] },
  ])
  expect(made[0]!.items[1]).not.toHaveProperty('listPrice')
})

test('JSON, with numbers as numbers, in a currency without a minor unit', async () => {
  const list = [
    { name: '急須', price: 1999, units: 3, quantityMax: 2 },
    { name: 'Cup', price: '5', units: 1, currency: 'EUR', sku: null, description: 'For tea.\r\nNot for coffee.' },
  ]
  const ran = await importing('products.json', JSON.stringify(list), '--name', 'Kyoto', '--currency', 'JPY')
  expect(ran).toMatchObject({ code: 0 })
  const made = (await sales()).find(({ name }) => name === 'Kyoto')!
  expect(made.items).toMatchObject([
    { name: '急須', price: { amount: 1999, currency: 'JPY' }, quantityMax: 2 },
    { name: 'Cup', price: { amount: 500, currency: 'EUR' } },
  ])
  expect(made.items[1]).not.toHaveProperty('description')
  // Buyers see a description on the sale's own page, and the list of sales does not carry it.
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const published = await fetch(`${server.url()}/api/admin/sales/${made.id}/publish`, { method: 'POST', headers })
  expect(published.status).toBe(200)
  const one = (await (await fetch(`${server.url()}/api/sales/${made.id}`)).json()) as OperatorSaleAnswer
  expect(one.items.map(({ description }) => description)).toEqual([undefined, 'For tea.\nNot for coffee.'])
  const shown = await (await fetch(`${server.url()}/api/sales`)).text()
  expect([shown.includes(made.id), shown.includes('For tea')]).toEqual([true, false])
})

test('every fault is told with its row, and nothing is made', async () => {
  const csv = 'name,price,units,sku,image\nCup,5,1,A,\nPot,1.999,x,B,\n,5,1,C,\nJar,5,1,A,ftp://x\nLid,5,-1,D,\n'
  const long = 'x'.repeat(2_001)
  await refused(
    importing('products.csv', csv, '--name', 'x', '--currency', 'EUR'),
    'line 3: price: "1.999" is no amount in EUR',
    'line 3: units: "x" is not a whole number',
    'line 4: name: it is empty',
    'line 5: image: must be an http(s) address or a path',
    'line 5: sku: "A" is the one of line 2, too',
    'line 6: units: "-1" is not a whole number',
  )
  await refused(
    importing('long.csv', `name,price,units,description\nCup,5,1,${long}`, '--name', 'x', '--currency', 'EUR'),
    'line 2: description:',
  )
  const wordy = Array.from({ length: 11 }, (_, i) => `Cup ${i},5,1,${long.slice(1)}`).join('\n')
  await refused(
    importing('wordy.csv', `name,price,units,description\n${wordy}`, '--name', 'x', '--currency', 'EUR'),
    'more than 20000 characters together',
  )
  const rows = Array.from({ length: 101 }, (_, i) => `Cup ${i},5,1`).join('\n')
  await refused(
    importing('many.csv', `name,price,units\n${rows}`, '--name', 'x', '--currency', 'EUR'),
    'sale "x": items',
  )
  for (const [text, word] of [
    ['name,price\nCup,5', '"units" is missing'],
    ['name,price,units,colour\nCup,5,1,red', '"colour" is no column'],
    ['name,price,units\nCup,5,1,9', 'line 2: it has 4 cells'],
    ['name,price,units\n"Cup,5,1', 'a quote is opened'],
    ['name,price,units\n', 'there is no product'],
    ['', 'there is no product'],
  ] as const)
    await refused(importing('odd.csv', text, '--name', 'x', '--currency', 'EUR'), word)
  await refused(
    importing('no-currency.csv', 'name,price,units\nCup,5,1', '--name', 'x'),
    'line 2: currency: it is missing',
  )
  await refused(importing('no-name.csv', 'name,price,units\nCup,5,1', '--currency', 'EUR'), '--name is needed')
  await refused(importing('bytes.csv', Buffer.from([0xff, 0xfe, 0x00]), '--name', 'x'), 'bytes.csv')
  await refused(importing('odd.json', '{"name": "x"}', '--name', 'x'), 'a list of products')
  await refused(
    importing('nested.json', '[{"name": {}, "price": 1, "units": 1}]', '--name', 'x'),
    'product 1: name: it must be a text or a number',
  )
})

test('pictures beside the file are uploaded, each once, and none from elsewhere', async () => {
  const png = (more: string) => Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.from(more)])
  mkdirSync(join(scratch, 'pictures'))
  writeFileSync(join(scratch, 'pictures/red.png'), png('red'))
  writeFileSync(join(scratch, 'pictures/not.png'), '<svg/>')
  writeFileSync(join(scratch, 'pictures/large.png'), png('x'.repeat(2_000_000)))
  const elsewhere = mkdtempSync(join(tmpdir(), 'stampede-elsewhere-'))
  playground.onUndo(() => rmSync(elsewhere, { recursive: true, force: true }))
  writeFileSync(join(elsewhere, 'secret.png'), png('secret'))
  symlinkSync(join(elsewhere, 'secret.png'), join(scratch, 'link.png'))
  const wrong = [
    'pictures/none.png',
    `../${basename(elsewhere)}/secret.png`,
    'link.png',
    'pictures',
    'pictures/not.png',
  ]
  const rows = [...wrong, 'pictures/large.png'].map((image, i) => `Cup ${i},5,1,${image}`).join('\n')
  await refused(
    importing('wrong.csv', `name,price,units,image\n${rows}`, '--name', 'x', '--currency', 'EUR'),
    'line 2: image: "pictures/none.png" is neither',
    'secret.png" lies outside of the folder',
    'line 4: image: "link.png" lies outside of the folder',
    'line 5: image: "pictures" is not a file',
    'line 6: image: "pictures/not.png" is not a PNG',
    'line 7: image: "pictures/large.png" is larger than 2 MB',
  )
  const csv =
    'name,price,units,image\nCup,5,1,pictures/red.png\nPot,5,1,./pictures/red.png\nJar,5,1,https://shop.example/j.png\n'
  const ran = await importing('pictures.csv', csv, '--name', 'Pictures', '--currency', 'EUR')
  expect(ran).toMatchObject({ code: 0 })
  const [cup, pot, jar] = (await sales()).find(({ name }) => name === 'Pictures')!.items
  expect(cup!.image).toMatch(/^\/images\/[0-9a-f]{64}\.png$/)
  expect([pot!.image, jar!.image]).toEqual([cup!.image, 'https://shop.example/j.png'])
  const served = await fetch(server.url() + cup!.image)
  expect([served.headers.get('content-type'), await served.text()]).toEqual(['image/png', png('red').toString()])
})

test('when the server refuses one of several drafts, those before it are deleted', async () => {
  const csv = 'sale,name,price,units\nFirst,Cup,5,1\nSecond,Pot,5,1\nThird,Lid,5,1\n'
  const made: string[] = []
  const deleted: string[] = []
  // What stands before the server has no answer to the third.
  const proxy = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request)).toString('utf8')
    if (body.includes('Third')) return response.writeHead(502).end()
    const { method = 'GET', url = '' } = request
    const headers = { authorization: String(request.headers.authorization), 'content-type': 'application/json' }
    const answer = await fetch(server.url() + url, { method, headers, ...(body !== '' && { body }) })
    const text = await answer.text()
    if (method === 'POST') made.push((JSON.parse(text) as { id: string }).id)
    if (method === 'DELETE') deleted.push(url.split('/').at(-1) ?? '')
    response
      .writeHead(answer.status, { 'content-type': 'application/json' })
      .end(answer.status === 204 ? undefined : text)
  })
  await new Promise<void>(listening => proxy.listen(0, '127.0.0.1', listening))
  const { port } = proxy.address() as AddressInfo
  try {
    await refused(importing('three.csv', csv, '--currency', 'EUR', '--server', `http://127.0.0.1:${port}`), 'stampede:')
  } finally {
    proxy.close()
  }
  expect(made).toHaveLength(2)
  expect(deleted.toSorted()).toEqual(made.toSorted())
})

test('names in the languages of the page, with the variant behind them; what is wrong with one is told with its column', async () => {
  const csv =
    'name,variant,variant_zh,name_zh,Name EN,price,units\n' +
    'Teekanne,rot,红,茶壶,,5,1\nTeekanne,blau,,茶壶,Teapot,5,1\nBecher,,,,,5,1\n'
  const options = ['--name', 'Montag', '--currency', 'EUR']
  expect(await importing('texts.csv', csv, ...options)).toMatchObject({ code: 0 })
  const made = (await sales()).find(({ name }) => name === 'Montag')!
  expect(made.items.map(({ name, texts }) => [name, texts])).toEqual([
    ['Teekanne, rot', { zh: { name: '茶壶, 红' } }],
    ['Teekanne, blau', { en: { name: 'Teapot, blau' }, zh: { name: '茶壶, blau' } }],
    ['Becher', undefined],
  ])
  const long = 'x'.repeat(201)
  await refused(importing('long.csv', `name,name zh,price,units\nCup,${long},5,1`, ...options), 'line 2: name zh: ')
})
